package host

import (
	"slices"
	"testing"
)

func TestReferencedFindsReferencesHoweverTheyAreWritten(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		want      []string
	}{
		{"none", `{"a":[1,"x"]}`, nil},
		{"plain", `{"a":{"$resource":"res_1"},"b":[{"$resource":"res_2"},{"$resource":"res_1"}]}`, []string{"res_1", "res_2"}},
		{"an escaped name", `{"a":{"\u0024resource":"res_1"}}`, []string{"res_1"}},
		{"an escape inside the name", `{"a":{"$res\u006furce":"res_\u0031"}}`, []string{"res_1"}},
		{"more members are no reference", `{"a":{"$resource":"res_1","b":1}}`, nil},
		{"a number is no reference", `{"a":{"$resource":1}}`, nil},
		{"the name as a text", `{"a":"$resource"}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := referenced([]byte(test.raw)); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
