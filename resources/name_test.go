package resources

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"vcphost/abi"
)

func TestCleanName(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"as it is", "report 2026 (final).pdf", "report 2026 (final).pdf"},
		{"other scripts", "图表-グラフ-چارت.png", "图表-グラフ-چارت.png"},
		{"emoji with joiner", "👩‍💻.txt", "👩‍💻.txt"},
		{"path upwards", "../../x", "x"},
		{"absolute path", "/etc/passwd", "passwd"},
		{"windows path", `C:\Users\me\a.txt`, "a.txt"},
		{"mixed separators", `a/b\c/d.txt`, "d.txt"},
		{"separator at the end", "dir/", ""},
		{"dots", "..", ""},
		{"dot", ".", ""},
		{"hidden file", ".profile", ".profile"},
		{"zero byte", "a\x00b", "ab"},
		{"control characters", "a\r\n\tb\x7f\u0085c.txt", "abc.txt"},
		{"bidi override", "invoice\u202egnp.exe", "invoicegnp.exe"},
		{"bidi isolates and marks", "\u2066a\u2069\u200e\u061cb.txt", "ab.txt"},
		{"zero width and byte order mark", "\ufeffa\u200bb", "ab"},
		{"line separators", "a\u2028b\u2029c", "abc"},
		{"not UTF-8", "a\xff\xfeb", "a_b"},
		{"windows metacharacters", `a<b>c:d"e|f?g*h`, "a_b_c_d_e_f_g_h"},
		{"alternate stream", "a.txt:hidden", "a.txt_hidden"},
		{"blanks and dots around", "  a.txt . . ", "a.txt"},
		{"reserved", "CON", "_CON"},
		{"reserved with extension", "nul.tar.gz", "_nul.tar.gz"},
		{"reserved port", "com1.txt", "_com1.txt"},
		{"reserved port in superscript", "LPT².txt", "_LPT².txt"},
		{"reserved with a blank", "aux .txt", "_aux .txt"},
		{"begins like a reserved one", "console.txt", "console.txt"},
		{"no port", "com10.txt", "com10.txt"},
		{"empty", "", ""},
		{"only what is dropped", "\u202e\x00", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := cleanName(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLongNamesKeepTheirExtension(t *testing.T) {
	tests := []struct{ name, in, ext string }{
		{"CJK", strings.Repeat("図", 100) + ".png", ".png"},
		{"ASCII", strings.Repeat("x", 1000) + ".docx", ".docx"},
		{"emoji", strings.Repeat("😀", 100) + ".md", ".md"},
		{"no extension", strings.Repeat("é", 300), ""},
		{"only an extension", "a." + strings.Repeat("é", 300), ""},
		{"blanks at the cut", strings.Repeat("x ", 300) + ".txt", ".txt"},
		{"reserved and long", "CON." + strings.Repeat("x", 300), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := cleanName(test.in)
			if len(got) > abi.MaxFileNameBytes || len(got) < abi.MaxFileNameBytes-8 || !utf8.ValidString(got) || !strings.HasSuffix(got, test.ext) {
				t.Errorf("got %d bytes %q, want %d at most, UTF-8, ending in %q", len(got), got, abi.MaxFileNameBytes, test.ext)
			}
		})
	}
}

func FuzzCleanName(f *testing.F) {
	for _, seed := range []string{"../../x", "a\x00b", "CON", strings.Repeat("図", 100), "a\u202eb", "a. .", "\xff.", "CON." + strings.Repeat(".", 300), strings.Repeat("a", 254) + ". "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := cleanName(in)
		switch {
		case len(got) > abi.MaxFileNameBytes:
			t.Errorf("%d bytes", len(got))
		case !utf8.ValidString(got):
			t.Errorf("%q is not UTF-8", got)
		case strings.ContainsAny(got, "/\\<>:\"|?*\x00"):
			t.Errorf("%q holds what must not be in a name", got)
		case strings.ContainsFunc(got, unicode.IsControl):
			t.Errorf("%q holds a control character", got)
		case got == "." || got == "..", reservedOnWindows(got):
			t.Errorf("%q is no name", got)
		case strings.HasSuffix(got, ".") || strings.HasSuffix(got, " "):
			t.Errorf("%q ends in what Windows drops", got)
		case cleanName(got) != got:
			t.Errorf("%q changes to %q when cleaned again", got, cleanName(got))
		}
	})
}
