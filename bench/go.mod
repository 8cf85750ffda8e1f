module github.com/wherry-acp/wherry/bench

go 1.26.0

replace github.com/wherry-acp/wherry => ../

require (
	github.com/coder/acp-go-sdk v0.13.0
	github.com/wherry-acp/wherry v0.0.0
)

require github.com/go-json-experiment/json v1.27.2 // indirect
