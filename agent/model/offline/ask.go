package offline

import "strings"

// answer answers a question about the folder.
func (c conversation) answer(t *turn) error {
	question := strings.TrimSpace(c.text)
	if question == "" {
		t.say(greeting)
		return nil
	}
	r, err := t.one("search", searchArgs{Pattern: question, IgnoreCase: true})
	if err != nil {
		return err
	}
	if r.failed {
		t.sayf("Could not search: %s\n", sentence(r.text))
		return nil
	}
	t.sayf("%s\n", r.text)
	return nil
}
