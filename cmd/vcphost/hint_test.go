package main

import (
	"strings"
	"testing"

	"vcphost/abi"
)

// A call that the state of its plugin prevented says what to do about it; the
// scenarios have what it says of a folder on this machine.
func TestHint(t *testing.T) {
	program := &Program{LookupEnv: func(string) (string, bool) { return "", false }}
	for _, test := range []struct{ name, code, reason, says string }{
		{"not trusted", abi.CodeToolDisabled, "approval_required", "--trust DIR"},
		{"refused", abi.CodeToolDisabled, "refused", "vcphost plugin inspect Bad"},
		{"switched off", abi.CodeToolDisabled, "blocked", ""},
		{"another error with that reason", abi.CodeInvalidArgument, "refused", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := &abi.Result{Error: abi.NewError(test.code, "no").WithDetails(map[string]string{"reason": test.reason})}
			result.Tool.Name = "Bad"
			got := program.hint(result)
			if (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("got %q, want %q", got, test.says)
			}
		})
	}
	program.settings.plugins, program.settings.trust = []string{"my plugins"}, []string{"here"}
	result := &abi.Result{Error: abi.NewError(abi.CodeToolDisabled, "no").WithDetails(map[string]string{"reason": "refused"})}
	result.Tool.Name = "Bad"
	if got := program.hint(result); !strings.HasSuffix(got, "vcphost plugin inspect Bad --plugins 'my plugins' --trust here") {
		t.Errorf("with flags: %q", got)
	}
	if got := program.hint(&abi.Result{}); got != "" {
		t.Errorf("without an error: %q", got)
	}
}

func TestFolderCanBeTyped(t *testing.T) {
	for _, test := range []struct{ source, below, want string }{
		{"more", "other", "more/other"},
		{"more/other", ".", "more/other"},
		{"my plugins", "it's", `'my plugins/it'\''s'`},
	} {
		if got := folder(test.source, test.below); got != test.want {
			t.Errorf("folder(%q, %q) = %s, want %s", test.source, test.below, got, test.want)
		}
	}
}

// What a server would refuse is not sent to it.
func TestAnInputOverTheServersLimitIsNotSent(t *testing.T) {
	b := badInput{}.set(t)
	s := startServer(t, b, "--max-upload-bytes", "100")
	file := sparseFile(t, b, 101)
	got := b.verb(t, "call", "Good", "--input", "file=@"+file)
	if got.status != exitNoResult || !strings.Contains(got.stderr, "101 bytes, and at most 100") {
		t.Errorf("exit status %d: %s", got.status, got.stderr)
	}
	if strings.Contains(s.log.String(), "/v1/resources") {
		t.Errorf("the server was sent the file: %s", &s.log)
	}
}
