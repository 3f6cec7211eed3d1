# Every target works from a fresh clone with Go installed. `make help` lists them.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME   ?= 30s
FUZZ       ?=
DURATION   ?= 1m
PER        ?= 3
JOBS       ?= 1
KILLS      ?= 1000
SEED       ?=
ROUND      ?= 5m
LEVEL      ?= ci
RUN        ?=
# What `make cross` vets.
VETTED     ?= linux/arm64 darwin/arm64 windows/amd64
# rxe's requester can number a repeated message wrongly on a busy machine: see conformance/rxelab/README.md.
RETRIES    ?= 2
BENCHSTAT   = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
ROUNDS     ?= 5
PER_END    ?= 1
BENCH      ?= .
PKGS       ?= ./...
A          ?= HEAD~1
B          ?= HEAD
COUNT      ?= 6

.PHONY: help build check lint cross programs frameworks interop interop-core interop-verbs interop-cm interop-daemon interop-links interop-programs interop-rdma-core interop-soak conformance conformance-self pairs bench bench-beside bench-vm bench-trace gobench bench-compare fuzz simulate cover mutants soak hostile kills

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

build: ## the gorxe command into bin/
	CGO_ENABLED=0 go build -ldflags "-X github.com/gorxe/gorxe/internal/cli/app.commit=$$(git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null)" -o bin/gorxe ./cmd/gorxe

check: lint ## what a change must pass: lint, all tests, the race detector
	go test ./...
	go test -race ./...

lint: ## formatting, columns, vet, staticcheck
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "gofmt needed:"; echo "$$files"; exit 1; }
	go run ./tools/columns $$(git ls-files '*.go')
	go vet ./...
	go run $(STATICCHECK) ./...

cross: ## build for every supported platform
	GOOS=linux GOARCH=amd64 go build -o /dev/null ./cmd/gorxe
	go vet -tags purego ./bth
	@# Nothing of it runs, so that it need not be optimized.
	@for p in $(VETTED); do \
		echo "GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./..."; \
		GOOS=$${p%/*} GOARCH=$${p#*/} go vet -gcflags=all='-N -l' ./... || exit 1; \
	done

interop: interop-core interop-verbs interop-cm interop-daemon interop-links interop-programs ## Linux rxe in QEMU against gorxe; interop-core and so on for one group, with RUN for the cells it matches; LEVEL=full takes hours and writes the pages in docs/

interop-core:
	go run ./conformance/rxelab/cmd/rxelab -group core -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-verbs:
	go run ./conformance/rxelab/cmd/rxelab -group verbs -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-cm:
	go run ./conformance/rxelab/cmd/rxelab -group cm -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-daemon:
	go run ./conformance/rxelab/cmd/rxelab -group daemon -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-links:
	go run ./conformance/rxelab/cmd/rxelab -group links -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-programs:
	go run ./conformance/rxelab/cmd/rxelab -group programs -level $(LEVEL) -run "$(RUN)" -retries $(RETRIES)

interop-rdma-core: ## rdma-core's own tests on Linux rxe in QEMU; writes their results into internal/serve/programs/testdata/pyverbs, to which gorxe's are compared
	go run ./conformance/rxelab/cmd/rxelab -rdma-core-tests internal/serve/programs/testdata/pyverbs

interop-soak: ## clients of rxe come to gorxe daemon for DURATION while 1 % of the packets is lost and some clients are killed
	go run ./conformance/rxelab/cmd/rxelab -soak $(DURATION) -round $(ROUND) -kernel trixie

conformance: ## gorxe conform against Linux rxe 6.1 and 6.12 in QEMU and gorxe with links of each kind (raw and xdp as root); writes docs/conformance.md, the same as HTML and captures of deviations
	go run ./conformance/rxelab/cmd/rxelab -conform all -conform-doc docs/conformance.md -conform-captures conformance/rxelab/conform/testdata -baselines conformance/baselines

conformance-self: ## the conformance tester against endpoints that break one rule each: their cases in real time, all cases in virtual time
	go test -count=1 -v ./conformance/self -run TestEveryMutantIsCaught -long
	go test -count=1 -v ./conformance/self -run TestEveryMutantIsCaught -all

pairs: ## the same matrix with gorxe at both ends, on loopback and, as root, over veth with links of each kind
	go run ./conformance/rxelab/cmd/pairs -level $(LEVEL) -doc docs/gorxe-to-gorxe.md

bench: build ## as root: gorxe beside iperf3, qperf, bare UDP and bare loops, and perftest under gorxe run, ROUNDS times in turn, PER_END cores each; writes docs/performance.md, its chart and all that was measured, or prints what RUN matches
	@test "$$(id -u)" -ne 0 || ! command -v apt-get >/dev/null || { command -v iperf3 && command -v qperf && command -v ib_write_bw && command -v ibv_devices; } >/dev/null || \
		apt-get install -y -qq --no-install-recommends iperf3 qperf perftest ibverbs-providers ibverbs-utils >/dev/null || echo "iperf3, qperf, perftest and ibv_devices: what is not installed is left out"
	go run ./tools/bench/cmd/bench -revision "$$(git describe --always --dirty --abbrev=12)" -rounds $(ROUNDS) -per-end $(PER_END) $(if $(RUN),-run '$(RUN)',-json docs/performance.json -doc docs/performance.md)

bench-beside: build ## as root: gorxe perf of this revision and of the revision A at once, which run in turn for slices of 50 ms, ROUNDS times in each order; RUN for some
	@dir=$$(mktemp -d); \
	trap 'git worktree remove --force $$dir/a 2>/dev/null; rm -rf $$dir' EXIT; trap 'exit 130' INT TERM; \
	git worktree add -q --detach $$dir/a "$(A)" && (cd $$dir/a && CGO_ENABLED=0 go build -o $$dir/gorxe ./cmd/gorxe) && \
	go run ./tools/bench/cmd/bench -rounds $(ROUNDS) -run '$(RUN)' -beside "$(A)=$$dir/gorxe" -slice 50ms

bench-vm: ## gorxe beside rxe in two virtual machines, ROUNDS times in turn; writes docs/performance-vm.md, its chart and all that was measured unless others disturbed it, or prints what RUN matches
	go run ./conformance/rxelab/cmd/rxelab -rivals $(ROUNDS) -kernel trixie $(if $(RUN),-run '$(RUN)',-doc docs/performance-vm.md)

bench-trace: build ## gorxe trace beside tshark on a generated capture of 1 GB, and its memory on 10 GB (needs 20 GB in $$TMPDIR)
	go run ./tools/tracebench -gorxe bin/gorxe

gobench: ## Go benchmarks of every package, with allocations; BENCH for some, of the packages PKGS
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKGS)

bench-compare: ## Go benchmarks of the revisions A and B, COUNT times in turn, and benchstat's verdict; BENCH for some, of the packages PKGS
	@dir=$$(mktemp -d); \
	trap 'for r in a b; do git worktree remove --force $$dir/$$r 2>/dev/null; done; rm -rf $$dir' EXIT; trap 'exit 130' INT TERM; \
	git worktree add -q --detach $$dir/a "$(A)" && git worktree add -q --detach $$dir/b "$(B)" || exit 1; \
	for i in $$(seq $(COUNT)); do \
		for r in a b; do \
			echo "$$i of $(COUNT): $$r" >&2; \
			(cd $$dir/$$r && go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKGS)) >>$$dir/$$r.txt || { tail -20 $$dir/$$r.txt; exit 1; }; \
		done; \
	done; \
	go run $(BENCHSTAT) "$(A)=$$dir/a.txt" "$(B)=$$dir/b.txt"

simulate: ## gorxe trace's causes, pairs and counters against simulated traffic of 64 to 5,000 connections with known truth, and the memory of joins
	@log=$$(mktemp); trap 'rm -f $$log' EXIT; rc=0; \
	go test -count=1 -v ./trace/internal/gobackn -long >$$log 2>&1 || rc=$$?; \
	go test -count=1 -v ./trace/join -run '^Test(StateIsBounded|MemoryOfTenThousandQueuePairs)$$' -long >>$$log 2>&1 || rc=$$?; \
	grep -E '^ *(---|gobackn_test)|go-backs|in use|^FAIL|^ok' $$log; exit $$rc

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
	@for p in transport qp cm cm/mad; do \
		out=$$(mktemp); go test -covermode=count -coverprofile=$$out ./$$p >/dev/null && echo "$$p:" && go run ./tools/branches -profile $$out; \
		status=$$?; rm -f $$out; test $$status = 0 || exit 1; \
	done

mutants: ## PER deliberate faults in each file of transport, qp and cm, JOBS at once: do the tests notice? 0 is all
	go run ./tools/mutants -v -timeout 20s -per $(PER) -jobs $(JOBS) -last 'GoBackN|Model|Alloc' -tests ./internal/nic,./internal/sim,./internal/sim/model,./verbs,./verbs/rdmacore transport qp cm cm/mad

programs: ## the tests of gorxe run's programs, each with a device of its own and through a daemon
	GORXE_PROGRAMS_WAYS=all go test -count=1 -timeout 30m ./internal/serve/programs

frameworks: ## UCX, MPI, libfabric and PyTorch (Debian: python3-torch) under gorxe run; what is not installed is skipped and named
	go test -count=1 -v -run 'UCX|MPI|PyTorch|Libfabric' ./internal/serve/programs

soak: ## the simulation with seeds of its own for DURATION
	go run ./internal/sim/cmd/soak -duration $(DURATION)

kills: ## kills KILLS programs under traffic, as many gorxe run and as many daemons, with kill -9, and counts what is left of them in the daemons and on the host; SEED repeats a run
	GORXE_KILLS=$(KILLS) GORXE_KILLS_SEED=$(SEED) go test -count=1 -v -timeout 0 -run 'KilledUnderTraffic' ./cmd/gorxe

hostile: ## as root, else on loopback: floods a daemon with each pattern that RUN matches, at 10,000 packets/s and at full rate, beside a good pair, and fails if that keeps less than 80 % and 50 %; DURATION of each measurement, 1s unless told, ROUNDS of them, up to three times as many where it kept less
	go run ./tools/hostile/cmd/hostile -run "$(RUN)" -rounds $(ROUNDS) $(if $(filter command line environment,$(origin DURATION)),-duration $(DURATION))
