// Package editors holds the tests that drive the real wherry as editors do: what each kind of editor offers, the order in
// which it asks, and what it relies on in the answers. docs/editors.md says the same for people, and names these tests.
// It has no code.
package editors
