package tool

import (
	"path"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

// readClass is the class of a call that shows the file at p to the model.
func readClass(p host.Path) approval.Class {
	if SecretPath(p.Abs) {
		return approval.ClassSecret
	}
	return approval.ClassRead
}

// WriteClass is the class of a change of the file at p.
func WriteClass(p host.Path) approval.Class { return writeClass(p) }

// writeClass is the class of a call that changes the file at p.
func writeClass(p host.Path) approval.Class {
	switch {
	case SecretPath(p.Abs):
		return approval.ClassSecret
	case isProtected(p.Abs):
		return approval.ClassProtected
	}
	return approval.ClassEdit
}

// components gives the lower-case names in a path: file systems that ignore case must not be a way round.
func components(abs string) []string {
	return strings.Split(strings.ToLower(strings.ReplaceAll(abs, `\`, "/")), "/")
}

// SecretPath tells whether the file at a resolved path usually holds secrets: keys, passwords, tokens.
func SecretPath(abs string) bool {
	parts := components(abs)
	name := parts[len(parts)-1]
	for i, part := range parts {
		switch part {
		case ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store":
			if i < len(parts)-1 {
				return true
			}
		}
	}
	if name == ".env" || strings.HasPrefix(name, ".env.") || strings.HasSuffix(name, ".env") {
		return !isTemplate(name)
	}
	if strings.HasPrefix(name, "id_") && !strings.HasSuffix(name, ".pub") {
		switch strings.TrimPrefix(name, "id_") {
		case "rsa", "dsa", "ecdsa", "ed25519", "ecdsa_sk", "ed25519_sk":
			return true
		}
	}
	if strings.HasPrefix(name, "id_rsa") && !strings.HasSuffix(name, ".pub") {
		return true
	}
	switch name {
	case ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg",
		".vault-token", ".terraformrc", "kubeconfig", ".kubeconfig", "credentials", "credentials.json", "secrets.json",
		"secrets.yaml", "secrets.yml", "secrets.toml", "service-account.json", "application_default_credentials.json":
		return true
	}
	if name == "config.json" && len(parts) > 1 && parts[len(parts)-2] == ".docker" {
		return true
	}
	switch ext := path.Ext(name); ext {
	case name: // ".key" and the like are names of their own
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".kubeconfig":
		return true
	}
	return false
}

// isTemplate tells whether a .env file is one without values, kept for people to copy.
func isTemplate(name string) bool {
	for _, end := range []string{".example", ".sample", ".template", ".dist", ".defaults"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// isProtected tells whether changing the file at a resolved path makes other programs run something or work otherwise: git's
// own files, hooks, editor settings, continuous integration, shell start-up files, and the settings and instructions of agents.
func isProtected(abs string) bool {
	parts := components(abs)
	name := parts[len(parts)-1]
	for i, part := range parts[:len(parts)-1] {
		switch part {
		case ".git", ".husky", ".vscode", ".idea", ".zed", ".wherry", ".devcontainer", ".circleci":
			return true
		case ".github", ".gitea", ".forgejo":
			if next := parts[i+1]; next == "workflows" || next == "actions" {
				return true
			}
		}
	}
	switch name {
	case ".git", ".gitmodules", ".gitconfig", ".gitlab-ci.yml", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
		".aiignore", ".mcp.json", "agents.md", "claude.md", "skill.md", ".cursorrules",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".kshrc", ".cshrc", ".tcshrc", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".inputrc":
		return true
	}
	return false
}

// namesSecret tells whether a shell line names a file that usually holds secrets. It looks at words alone, so a line can
// hide a name from it; it catches the plain cases, in the mode where commands are not asked.
func namesSecret(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool {
		return strings.ContainsRune(" \t\r\n;&|<>()`'\"=,:{}$@", r)
	})
	for _, word := range words {
		word = strings.TrimRight(strings.ReplaceAll(word, `\`, ""), "/.")
		if word == "" {
			continue
		}
		if SecretPath(word) && strings.ContainsAny(word, "./_") && word != "process.env" && word != "import.meta.env" {
			return true
		}
	}
	return false
}
