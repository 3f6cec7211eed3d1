# Every target works from a fresh clone with Go installed. `make help` lists them.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME   ?= 30s
FUZZ       ?=
DURATION   ?= 1m
PER        ?= 3
LEVEL      ?= ci
RUN        ?=
# rxe's requester can number a repeated message wrongly on a busy machine: see conformance/rxelab/README.md.
RETRIES    ?= 2

.PHONY: help build check lint cross interop interop-core interop-verbs interop-cm interop-daemon pairs bench fuzz cover mutants soak

help: ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## the gorxe command into bin/
	go build -o bin/gorxe ./cmd/gorxe

check: lint ## what a change must pass: lint, all tests, the race detector
	go test ./...
	go test -race ./...

lint: ## formatting, vet, staticcheck
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "gofmt needed:"; echo "$$files"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

cross: ## build for every supported platform
	GOOS=linux GOARCH=amd64 go build -o /dev/null ./cmd/gorxe
	GOOS=linux GOARCH=arm64 go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=windows GOARCH=amd64 go vet ./...

interop: interop-core interop-verbs interop-cm interop-daemon ## Linux rxe in QEMU against gorxe; interop-core and so on for one group, with RUN for the cells it matches; LEVEL=full takes hours and writes the pages in docs/

interop-core:
	go run ./conformance/rxelab/cmd/rxelab -group core -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-verbs:
	go run ./conformance/rxelab/cmd/rxelab -group verbs -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-cm:
	go run ./conformance/rxelab/cmd/rxelab -group cm -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-daemon:
	go run ./conformance/rxelab/cmd/rxelab -group daemon -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

pairs: ## the same matrix with gorxe at both ends, on loopback and, as root, over veth
	go run ./conformance/rxelab/cmd/pairs -level $(LEVEL) -doc docs/gorxe-to-gorxe.md

bench: ## benchmarks of every package, with allocations
	go test -run '^$$' -bench . -benchmem ./...

fuzz: ## every fuzz target whose name has FUZZ in it, for FUZZTIME each; ends with how often each ran
	@counts=$$(mktemp); log=$$(mktemp); trap 'rm -f $$counts $$log' EXIT; \
	for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz.*$(FUZZ)' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; \
			go test -run "^$$f$$" -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$pkg >$$log 2>&1 || { cat $$log; exit 1; }; \
			grep -o 'elapsed: [^,]*, execs: [0-9]*' $$log | tail -1 | sed "s|^|$$f |" >>$$counts; \
		done; \
	done; \
	echo; cat $$counts

cover: ## branches of transport, qp and cm that their tests take
	@for p in transport qp cm; do \
		out=$$(mktemp); go test -covermode=count -coverprofile=$$out ./$$p >/dev/null && echo "$$p:" && go run ./internal/branches -profile $$out; \
		status=$$?; rm -f $$out; test $$status = 0 || exit 1; \
	done

mutants: ## PER deliberate faults in each file of transport, qp and cm: do the tests notice? 0 is all
	go run ./internal/mutants -v -timeout 20s -per $(PER) -last 'GoBackN|Model|Alloc' -tests ./internal/engine,./internal/sim,. transport qp cm

soak: ## the simulation with seeds of its own for DURATION
	go run ./internal/sim/cmd/soak -duration $(DURATION)
