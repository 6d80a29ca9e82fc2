package config

import (
	"strings"
	"testing"
	"time"
)

// TestHostileFilesEndSoon: a file of the largest size costs little, whatever is
// in it.
func TestHostileFilesEndSoon(t *testing.T) {
	for name, piece := range map[string]string{
		"nested lists": "[", "nested maps": "{a: ", "nested blocks": "- ", "many names": "x: 1\n", "aliases": "&a [*a, ", "questions": "? ",
		"quotes": `"\`, "anchors": "&a ", "tags": "! ", "documents": "---\n", "steps": "- - - -\n", "directives": "%YAML 1.2\n", "comments": "# x\n",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := loadBytes([]byte(strings.Repeat(piece, maxFileBytes/len(piece))))
			took := time.Since(began)
			t.Logf("%v, %.100v", took, err)
			if took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
