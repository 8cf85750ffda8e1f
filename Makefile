# Everything goes through scripts/check, which knows the steps, times them and sums them up.
# `make help` lists the targets.

export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help build gen fmt vet lint unit race script docs interop interop-all kills fuzz platforms cross generated bench test clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## run every check; ends with "N passed, N failed"
	@scripts/check

build: ## build the wherry command into bin/
	@scripts/check build

gen: ## fetch the protocol's schema and generate the protocol types
	go run ./acp/internal/schemagen

fmt: ## format all Go files
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

vet: ## go vet, on this module and on bench
	@scripts/check vet

lint: ## formatting and staticcheck
	@scripts/check format lint

unit: ## unit tests without the race detector
	@scripts/check unit

race: ## unit tests with the race detector (needs a C compiler)
	@scripts/check race

script: ## the scripts that run the real binary
	@scripts/check script

docs: ## what the documents say: code blocks, commands, links
	@scripts/check docs

interop: ## programs from other people against the real binary (needs node, npm and python3)
	@scripts/check interop

interop-all: ## our client against whole coding agents of others: minutes, fetches gigabytes
	@scripts/check interop-all

kills: ## kill the program at 200 random moments of a turn, and look whether anything was lost: minutes; KILLS=50 for fewer
	@scripts/check kills

fuzz: ## every fuzz target, a few seconds each; FUZZTIME=1m for longer
	@scripts/check fuzz-all

platforms: ## type-check for Windows and macOS
	@scripts/check platforms

cross: ## build for Windows and macOS
	@scripts/check cross

generated: ## check that the generated files are what the generator makes
	@scripts/check generated

bench: ## benchmarks beside other implementations, measured in one run
	@scripts/bench

clean: ## remove what was built and fetched
	rm -rf bin .cache interop/node_modules bench/node_modules
