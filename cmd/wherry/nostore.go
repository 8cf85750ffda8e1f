package main

import (
	"context"
	"iter"

	"github.com/wherry-acp/wherry/agent/session"
)

// noStore stands in when it is not known where sessions are kept: an editor is still greeted, and told why when it opens
// a session.
type noStore struct{ why error }

func (n noStore) Create(context.Context, string, session.Created) error { return n.why }

func (n noStore) Fork(context.Context, string, string) error { return n.why }

func (n noStore) Acquire(context.Context, string) (session.Lease, error) { return nil, n.why }

func (n noStore) Get(context.Context, string) (session.Info, error) { return session.Info{}, n.why }

func (n noStore) List(context.Context, session.Filter) (session.Page, error) {
	return session.Page{}, n.why
}

func (n noStore) Delete(context.Context, string) error { return n.why }

func (n noStore) Close() error { return nil }

func (n noStore) Events(context.Context, string, int64) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) { yield(session.Event{}, n.why) }
}
