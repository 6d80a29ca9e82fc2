package main

import (
	"fmt"
	"os/user"
	"regexp"
	"runtime"
	"strings"
)

// mask replaces what differs from run to run. An id gets a number in the order
// of appearance, so that the transcript still shows which ids are the same.
type mask struct {
	fixed   *strings.Replacer
	work    string            // what $WORK stands for
	numbers map[string]string // value → mask
	values  map[string]string // mask → value
	count   map[string]int    // by prefix
}

var (
	maskedID       = regexp.MustCompile(`\b(tr_|ti_|req_|tcr_|res_|task_|sch_)([0-9A-Z]{26})\b`)
	maskedHash     = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	revealed       = regexp.MustCompile(`\b[a-z]+_#\d+`)
	maskedTime     = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	maskedMillis   = regexp.MustCompile(`"durationMs": \d+`)
	maskedDeadline = regexp.MustCompile(`("?deadlineMs"?: ?)\d+`)
	// The size of a picture depends on the compressor of the toolchain.
	maskedPicture = regexp.MustCompile(`("mimeType": "image/png",\s+"fileName": "[^"]*",\s+"sizeBytes": )\d+`)
	maskedBytes   = regexp.MustCompile(`(image/png, (?:\d+ × \d+ px, )?)\d+ bytes`)
	// What a call cost, and whether an instance waited for it.
	maskedSandbox = regexp.MustCompile(`("vcp\.sandbox":) ?\{\s*"fuel":[^}]*?("isolation": ?"[a-z]+")[^}]*\}`)
	maskedVersion = regexp.MustCompile(`(?m)^vcphost \S.*$`)
)

func newMask(work, alias string) *mask {
	pairs := []string{}
	for _, dir := range []string{work, alias} {
		pairs = append(pairs, dir, "$WORK")
	}
	if current, err := user.Current(); err == nil {
		pairs = append(pairs, `"`+current.Username+`"`, `"<user>"`)
	}
	pairs = append(pairs, runtime.Version(), "<go>", runtime.GOOS+"/"+runtime.GOARCH, "<platform>")
	return &mask{
		fixed: strings.NewReplacer(pairs...), work: work,
		numbers: map[string]string{}, values: map[string]string{}, count: map[string]int{},
	}
}

func (m *mask) apply(text string) string {
	text = maskedID.ReplaceAllStringFunc(text, func(id string) string {
		return m.number(id[:strings.IndexByte(id, '_')+1], id)
	})
	text = maskedHash.ReplaceAllStringFunc(text, func(hash string) string { return m.number("sha256_", hash) })
	text = maskedTime.ReplaceAllString(text, "<time>")
	text = maskedMillis.ReplaceAllString(text, `"durationMs": <ms>`)
	text = maskedDeadline.ReplaceAllString(text, "${1}<time>")
	text = maskedPicture.ReplaceAllString(text, "${1}<bytes>")
	text = maskedBytes.ReplaceAllString(text, "${1}<n> bytes")
	text = maskedSandbox.ReplaceAllString(text, "$1 { <figures>, $2 }")
	text = maskedVersion.ReplaceAllString(text, "vcphost <version>")
	return m.fixed.Replace(text)
}

func (m *mask) number(prefix, value string) string {
	if known, ok := m.numbers[value]; ok {
		return known
	}
	m.count[prefix]++
	masked := fmt.Sprintf("%s#%d", prefix, m.count[prefix])
	m.numbers[value], m.values[masked] = masked, value
	return masked
}

// reveal puts the real ids, and the directory, back into a word of a script.
func (m *mask) reveal(text string) string {
	return revealed.ReplaceAllStringFunc(strings.ReplaceAll(text, "$WORK", m.work), func(masked string) string {
		if value, ok := m.values[masked]; ok {
			return value
		}
		return masked
	})
}
