package acp_test

import (
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestOnlyAnOfferedOptionThatAllowsIsAnApproval(t *testing.T) {
	selected := func(id acp.PermissionOptionID) acp.RequestPermissionOutcome {
		return acp.SelectedPermissionOutcome{OptionID: id}
	}
	for _, c := range []struct {
		name              string
		outcome           acp.RequestPermissionOutcome
		allowed, remember bool
	}{
		{"allow once", selected("no"), true, false}, // ids and names mean nothing
		{"allow always", selected("deny"), true, true},
		{"reject once", selected("yes"), false, false},
		{"reject always", selected("allow"), false, true},
		{"an option that was not offered", selected("allow_once"), false, false},
		{"an option without id", selected(""), false, false},
		{"a kind that is not known", selected("new"), false, false},
		{"an id that two options have", selected("twice"), false, false},
		{"cancelled", acp.CancelledPermissionOutcome{}, false, false},
		{"an outcome that is not known", acp.UnknownRequestPermissionOutcome{Tag: "allowed"}, false, false},
		{"no outcome", nil, false, false},
	} {
		req := acp.RequestPermissionRequest{Options: []acp.PermissionOption{
			{OptionID: "no", Name: "Reject", Kind: acp.PermissionAllowOnce},
			{OptionID: "deny", Kind: acp.PermissionAllowAlways},
			{OptionID: "yes", Name: "Allow", Kind: acp.PermissionRejectOnce},
			{OptionID: "allow", Kind: acp.PermissionRejectAlways},
			{OptionID: "new", Kind: "allow_for_a_day"},
			{OptionID: "twice", Kind: acp.PermissionAllowOnce},
			{OptionID: "twice", Kind: acp.PermissionRejectOnce},
		}}
		allowed, remember := acp.PermissionDecision(req, acp.RequestPermissionResponse{Outcome: c.outcome})
		if allowed != c.allowed || remember != c.remember {
			t.Errorf("%s: allowed %v, remember %v", c.name, allowed, remember)
		}
	}
}
