package acp

// PermissionDecision tells an agent what the answer to session/request_permission means:
// whether it is allowed to go on, and whether it should remember that, or the refusal, for
// the next time. Only an option that was offered, of a kind that allows, is an approval.
// Everything else refuses: an option that was not offered or whose kind is not known, an
// outcome that is not known or missing, and "cancelled". Of options that share an id the
// strictest counts.
func PermissionDecision(req RequestPermissionRequest, resp RequestPermissionResponse) (allowed, remember bool) {
	selected, ok := resp.Outcome.(SelectedPermissionOutcome)
	if !ok {
		return false, false
	}
	found, allows, always := false, true, true
	for _, o := range req.Options {
		if o.OptionID != selected.OptionID {
			continue
		}
		found = true
		allows = allows && (o.Kind == PermissionAllowOnce || o.Kind == PermissionAllowAlways)
		always = always && (o.Kind == PermissionAllowAlways || o.Kind == PermissionRejectAlways)
	}
	return found && allows, found && always
}
