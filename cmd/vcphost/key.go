package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"vcphost/server/identity"
)

func (p *Program) keyCommand() *cobra.Command {
	top := group("key", "Make, list and revoke the keys that the API asks for")
	top.AddCommand(p.keyAddCommand(), p.keyListCommand(), p.keyRevokeCommand())
	return top
}

func (p *Program) keyAddCommand() *cobra.Command {
	var spec identity.KeySpec
	var scopes []string
	var expires time.Duration
	command := &cobra.Command{
		Use:   "add --name NAME --scope SCOPE …",
		Short: "Make a key and print its secret, this once",
		Long: `Make a key. Its secret goes to standard output, alone, and is kept nowhere: only
its hash is stored.

Scopes:
` + scopeHelp(),
		Example: `  vcphost key add --name dashboard --scope results:read --scope resources:read
  vcphost key add --name planner --scope 'tools:call:Schedule*' --expires 720h`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if spec.Name == "" || len(scopes) == 0 {
				return usage("a key needs --name NAME and at least one --scope SCOPE")
			}
			for _, scope := range scopes {
				spec.Scopes = append(spec.Scopes, identity.Scope(scope))
			}
			if expires < 0 {
				return usage("--expires %v is in the past", expires)
			}
			if expires > 0 {
				spec.ExpiresAt = time.Now().Add(expires)
			}
			return p.withStore(command.Context(), "key add", func(s *session) error { return p.addKey(command.Context(), s, spec) })
		},
	}
	set := command.Flags()
	set.StringVar(&spec.Name, "name", "", "what the key is for, told to people")
	set.StringArrayVar(&scopes, "scope", nil, "what the key may do; repeatable")
	set.StringVar(&spec.Tenant, "tenant", "", `whose the key's objects are (default "default")`)
	set.StringVar(&spec.Actor, "actor", "", "who acts with the key (default the key itself)")
	set.DurationVar(&expires, "expires", 0, "how long the key is good for, such as 720h (default for ever)")
	return command
}

// scopeHelp lists the scopes.
func scopeHelp() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, known := range identity.KnownScopes() {
		fmt.Fprintf(table, "  %s\t%s\n", known.Scope, known.Description)
	}
	_ = table.Flush() // to memory
	return strings.TrimRight(text.String(), "\n")
}

func (p *Program) addKey(ctx context.Context, s *session, spec identity.KeySpec) error {
	key, secret, err := s.AddKey(ctx, spec)
	if err != nil {
		return fmt.Errorf("add a key: %w", err)
	}
	fmt.Fprintf(p.Stderr, "key %s: %s; the secret is shown only this once\n", key.ID, printable(key.Name))
	return p.printText(secret)
}

func (p *Program) keyListCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the keys, without their secrets",
		Example: "  vcphost key list --json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.withStore(command.Context(), "key list", func(s *session) error {
				keys, err := s.Keys(command.Context())
				if err != nil {
					return fmt.Errorf("list the keys: %w", err)
				}
				if asJSON {
					return p.printJSON(keys)
				}
				return p.listKeys(keys, time.Now())
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func (p *Program) listKeys(keys []identity.Key, now time.Time) error {
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tSTATE\tSCOPES\tOWNER\tCREATED\tEXPIRES\tLAST USED")
	for i := range keys {
		k := &keys[i]
		scopes := make([]string, len(k.Scopes))
		for j, scope := range k.Scopes {
			scopes[j] = string(scope)
		}
		state := "usable"
		switch k.Usable(now) {
		case identity.ErrRevoked:
			state = "revoked"
		case identity.ErrExpired:
			state = "expired"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, printable(k.Name), state, printable(strings.Join(scopes, ",")),
			printable(k.Owner.Tenant+"/"+k.Owner.Actor), moment(k.CreatedAt), moment(k.ExpiresAt), moment(k.LastUsedAt))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}

// moment is a time in a table, where there is one.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (p *Program) keyRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Refuse a key from now on",
		Example: "  vcphost key revoke key_01J…",
		Args:    between(1, 1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.withStore(command.Context(), "key revoke", func(s *session) error {
				// The id is not repeated: people paste secrets in its place.
				if err := s.RevokeKey(command.Context(), args[0]); err != nil {
					return fmt.Errorf("revoke a key: %w", err)
				}
				return nil
			})
		},
	}
}
