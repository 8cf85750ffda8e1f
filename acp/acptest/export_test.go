package acptest

import (
	"fmt"

	"github.com/wherry-acp/wherry/acp"
)

// CheckAgent runs one of TestAgent's checks.
func CheckAgent(name string, newAgent func() acp.Agent, o *TestOptions) error {
	for _, c := range agentChecks() {
		if c.name == name {
			if o.Cwd == "" {
				o.Cwd = "/w"
			}
			return runCheck(newAgent, o, c)
		}
	}
	return fmt.Errorf("there is no check %q", name)
}
