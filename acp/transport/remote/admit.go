package remote

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

const (
	allowedMethods = "GET, POST, DELETE, OPTIONS"
	allowedHeaders = "Accept, Authorization, Content-Type, Last-Event-ID, " + HeaderConnectionID + ", " + HeaderSessionID
)

// A RefusedError is an error of Authorize that says how to refuse.
type RefusedError struct {
	Status    int    // 401, 403 or 429; anything that is no error status means 401
	Challenge string // for WWW-Authenticate, if not empty
	Reason    string // for the log
}

// Error gives the status and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("refused with %d: %s", e.Status, e.Reason) }

// admit checks a request before anything of it is used. It has answered if it returns false.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) (principal string, ok bool) {
	if !h.hostAllowed(r) {
		h.refused(r, "host not allowed")
		refuse(w, http.StatusForbidden, "Forbidden: this server is not known under that host name")
		return "", false
	}
	if origins, there := r.Header["Origin"]; there {
		w.Header().Add("Vary", "Origin")
		if len(origins) != 1 || !h.originAllowed(origins[0]) {
			h.refused(r, "origin not allowed")
			refuse(w, http.StatusForbidden, "Forbidden: this origin is not allowed")
			return "", false
		}
		w.Header().Set("Access-Control-Allow-Origin", origins[0])
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Expose-Headers", HeaderConnectionID)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.Header().Set("Access-Control-Allow-Methods", allowedMethods)
			w.Header().Set("Access-Control-Allow-Headers", allowedHeaders)
			w.Header().Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return "", false
		}
	}
	if h.opts.Authorize == nil {
		return "", true
	}
	principal, err := h.opts.Authorize(r)
	if err == nil {
		return principal, true
	}
	status := http.StatusUnauthorized
	if refused, is := errors.AsType[*RefusedError](err); is {
		if refused.Status >= 400 && refused.Status < 600 {
			status = refused.Status
		}
		if refused.Challenge != "" {
			w.Header().Set("WWW-Authenticate", refused.Challenge)
		}
	}
	h.log.Warn("request refused", "peer", r.RemoteAddr, "status", status, "error", err)
	refuse(w, status, http.StatusText(status))
	return "", false
}

func (h *Handler) refused(r *http.Request, why string) {
	h.log.Warn("request refused", "peer", r.RemoteAddr, "status", http.StatusForbidden, "error", why)
}

func (h *Handler) originAllowed(origin string) bool {
	return slices.ContainsFunc(h.opts.Origins, func(o string) bool { return strings.EqualFold(o, origin) })
}

func (h *Handler) hostAllowed(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if len(h.opts.Hosts) > 0 {
		return slices.ContainsFunc(h.opts.Hosts, func(o string) bool { return strings.EqualFold(o, host) })
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return true
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
