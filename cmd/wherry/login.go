package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/provider"
)

// loginWait bounds how long a provider may take to say whether it takes a key.
const loginWait = 10 * time.Second

// checkLogin reads the key for a model again and asks the provider whether it takes it. A provider that cannot be asked, or
// answers anything but that the key is wrong, leaves it to the next prompt: a key that may not list models can be a good one.
func (m modelSource) checkLogin(ctx context.Context, id string) error {
	if _, err := m.open(ctx, id); err != nil {
		return err
	}
	service, ok := serviceOf(id)
	if !ok || service.KeyVar == "" {
		return nil
	}
	key, err := m.key(ctx, service)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	_, err = provider.Remote(asking, service.ID, provider.Env{Lookup: m.lookup(service, key)})
	var failure *model.Error
	if errors.As(err, &failure) && failure.Kind == model.ErrAuth && failure.Status != http.StatusForbidden {
		return withSetup(err)
	}
	return ctx.Err()
}
