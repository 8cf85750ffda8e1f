package acp

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// initialize answers the handshake with version 1, whatever newer version was asked for.
func (s *agentSide) initialize(ctx context.Context, params jsontext.Value) (InitializeResponse, error) {
	ok := false
	defer func() {
		s.mu.Lock()
		s.spoken = s.spoken || ok
		select {
		case <-s.hello:
		default:
			close(s.hello)
		}
		s.mu.Unlock()
	}()
	req, err := s.readInitialize(params)
	if err != nil {
		return InitializeResponse{}, paramsError(err)
	}
	resp := InitializeResponse{ProtocolVersion: Version1, AgentCapabilities: s.caps, AgentInfo: s.opts.Info}
	if resp.AgentInfo == nil {
		resp.AgentInfo = programInfo()
	}
	for _, m := range s.opts.AuthMethods {
		if _, terminal := m.(AuthMethodTerminal); !terminal || req.ClientCapabilities.Auth.Terminal {
			resp.AuthMethods = append(resp.AuthMethods, m)
		}
	}
	if h, is := s.agent.(Initializer); is {
		if err := h.Initialize(ctx, req, &resp); err != nil {
			return resp, err
		}
		if err := checkOffer(s.agent, &resp.AgentCapabilities, resp.AuthMethods, s.opts.Unstable); err != nil {
			return resp, err
		}
	}
	s.client.meet(req)
	ok = true
	return resp, nil
}

// readInitialize reads the params of initialize. A client that asks for a newer version
// may send them in that version's shape: what this version has too is taken over, and
// what does not parse is dropped.
func (s *agentSide) readInitialize(params jsontext.Value) (InitializeRequest, error) {
	l := &s.client.link
	req, err := decode[InitializeRequest](l, params)
	version, versionErr := requestedVersion(params)
	if versionErr != nil || version <= Version1 {
		return req, err
	}
	if err != nil {
		l.log.Debug("params of a newer initialize left out", "error", err)
		req = InitializeRequest{ProtocolVersion: version}
	}
	if req.ClientInfo == nil {
		if info, err := decode[Implementation](l, member(params, "info")); err == nil && info.Name != "" {
			req.ClientInfo = &info
		}
	}
	caps := member(params, "capabilities")
	if caps == nil {
		return req, nil
	}
	c := &req.ClientCapabilities
	if terminal := member(member(caps, "auth"), "terminal"); terminal != nil && terminal.Kind() == '{' {
		c.Auth.Terminal = true
	}
	if raw := member(caps, "elicitation"); raw != nil && c.Elicitation == nil {
		if e, err := decode[ElicitationCapabilities](l, raw); err == nil {
			c.Elicitation = &e
		}
	}
	if c.Session == nil {
		c.Session = &ClientSessionCapabilities{}
	}
	if c.Session.ConfigOptions == nil {
		c.Session.ConfigOptions = &SessionConfigOptionsCapabilities{Boolean: &BooleanConfigOptionCapabilities{}}
	}
	if s.opts.Unstable && c.UnstablePlan == nil {
		c.UnstablePlan = &UnstablePlanCapabilities{}
	}
	return req, nil
}

// requestedVersion reads only the version of initialize's params.
func requestedVersion(params jsontext.Value) (ProtocolVersion, error) {
	raw := member(params, "protocolVersion")
	if raw == nil {
		return 0, &DecodeError{Path: "protocolVersion"}
	}
	d := Codec{}.decoder(raw)
	v, err := decodeUint[uint16](&d, 16)
	return ProtocolVersion(v), err
}

// member returns the value of an object's member, nil if there is none or it is null.
func member(object jsontext.Value, name string) jsontext.Value {
	if object.Kind() != '{' {
		return nil
	}
	d := Codec{}.decoder(object)
	at := d.find(name)
	if at < 0 || object[at] == 'n' {
		return nil
	}
	return object[at:valueEnd(object, at)]
}
