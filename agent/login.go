package agent

import (
	"context"
	"sync"
)

// logins remembers whose login was refused last. It is shared by an agent and those made of it for other folders.
type logins struct {
	mu    sync.Mutex
	agent *Agent
	model string
}

// refused notes that a model's provider did not take the credentials.
func (l *logins) refused(a *Agent, model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agent, l.model = a, model
}

// Login reads the credentials again and tells whether they will do: those of the model whose provider refused them last, or
// else those of the default model. An [*model.Error] says what is missing.
func (a *Agent) Login(ctx context.Context) error {
	a.logins.mu.Lock()
	of, id := a.logins.agent, a.logins.model
	a.logins.mu.Unlock()
	if of == nil {
		of, id = a, a.opts.DefaultModel
	}
	if of.opts.CheckLogin != nil {
		return of.opts.CheckLogin(ctx, id)
	}
	_, err := of.opts.OpenModel(ctx, id)
	return err
}
