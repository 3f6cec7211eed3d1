# Every target works from a fresh clone with Go installed. `make help` lists them.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME   ?= 30s
LEVEL      ?= full

.PHONY: help build check race lint cross interop bench fuzz

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

interop: ## real Linux rxe in QEMU against gorxe; LEVEL=ci for the short matrix
	go run ./conformance/rxelab/cmd/rxelab -level $(LEVEL)

bench: ## benchmarks of every package, with allocations
	go test -run '^$$' -bench . -benchmem ./...

fuzz: ## every fuzz target for FUZZTIME each
	@go list ./... | while read -r pkg; do \
		for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done
