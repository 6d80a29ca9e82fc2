package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
	day    = 24 * time.Hour
)

// set reads a text into the setting's field. Errors of a secret do not repeat
// its text.
func (r *row) set(s *Settings, text string) error {
	switch field := r.field(s).(type) {
	case *string:
		return r.setString(field, text)
	case *bool:
		return setBool(field, text)
	case *int:
		n, err := r.number(text)
		*field = int(n)
		return err
	case *int64:
		n, err := r.number(text)
		*field = n
		return err
	case *time.Duration:
		n, err := r.duration(text)
		*field = n
		return err
	}
	return fmt.Errorf("%s takes a list", r.Name)
}

func (r *row) setString(field *string, text string) error {
	switch {
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return errors.New("control characters are not allowed")
	case r.Values != nil && !slices.Contains(r.Values, text):
		return fmt.Errorf("%q is none of %s%s", clip(text), strings.Join(r.Values, ", "), suggest(text, r.Values))
	case r.check != nil && (text != "" || r.Default != ""): // "" means none where that is the default
		if err := r.check(text); err != nil {
			return err
		}
	}
	*field = text
	return nil
}

func setBool(field *bool, text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("%q is neither true nor false", clip(text))
	}
	*field = text == "true"
	return nil
}

// setList replaces the list; its texts must say something.
func (r *row) setList(s *Settings, texts []string) error {
	field, ok := r.field(s).(*[]string)
	if !ok {
		return fmt.Errorf("%s takes one value, and there are %d", r.Name, len(texts))
	}
	for i, text := range texts {
		if text == "" {
			return fmt.Errorf("element %d is empty", i)
		}
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("element %d has a NUL character", i)
		}
	}
	*field = append([]string(nil), texts...)
	return nil
}

// number reads an int or a number of bytes, by the row's type.
func (r *row) number(text string) (int64, error) {
	digits, unit := text, int64(1)
	if r.Type == TypeBytes {
		digits, unit = splitUnit(text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil && r.Type == TypeBytes:
		return 0, fmt.Errorf("%q is no size; write a number, or one with KiB, MiB, GiB or TiB", clip(text))
	case err != nil:
		return 0, fmt.Errorf("%q is no whole number", clip(text))
	case n < 0 || n > math.MaxInt64/unit:
		return 0, fmt.Errorf("%q is out of range", clip(text))
	}
	n *= unit
	if n < r.least || n > r.most {
		return 0, fmt.Errorf("%q is out of range; at least %s and at most %s are allowed", clip(text), r.write(r.least), r.write(r.most))
	}
	return n, nil
}

type byteUnit struct {
	name  string
	bytes int64
}

func byteUnits() []byteUnit {
	return []byteUnit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

func splitUnit(text string) (digits string, unit int64) {
	for _, u := range byteUnits() {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			return strings.TrimSuffix(digits, " "), u.bytes
		}
	}
	return text, 1
}

// duration reads Go's form, or days, which have 24 hours each.
func (r *row) duration(text string) (time.Duration, error) {
	if r.endless && text == forever {
		return -1, nil
	}
	d, err := parseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write one like 90s, 1h30m or 30d", clip(text))
	}
	if int64(d) < r.least || int64(d) > r.most {
		return 0, fmt.Errorf("%q is out of range; at least %s and at most %s are allowed", clip(text), r.write(r.least), r.write(r.most))
	}
	return d, nil
}

func parseDuration(text string) (time.Duration, error) {
	digits, days := strings.CutSuffix(text, "d")
	if !days {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return time.Duration(n) * day, err
}

// write is the short form of a number of the row's type.
func (r *row) write(n int64) string {
	switch r.Type {
	case TypeBytes:
		for _, u := range byteUnits() {
			if n >= u.bytes && n%u.bytes == 0 {
				return strconv.FormatInt(n/u.bytes, 10) + u.name
			}
		}
	case TypeDuration:
		return writeDuration(time.Duration(n))
	}
	return strconv.FormatInt(n, 10)
}

func writeDuration(d time.Duration) string {
	switch {
	case d < 0:
		return forever
	case d > 0 && d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func checkAddr(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is no address; write host:port", clip(text))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is no port; 0 to 65535 are", clip(port))
	}
	return nil
}

// checkURL does not repeat the URL: a person may have written a password in it.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("an absolute URL with http or https is expected")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the URL must have no user, query or fragment")
	case strings.HasSuffix(text, "/"):
		return errors.New("the URL must not end with a slash")
	}
	return nil
}

// Bounds of a static key; who authenticates callers has the same ones.
const (
	minKeyBytes = 32
	maxKeyBytes = 512
)

func checkKey(text string) error {
	if len(text) < minKeyBytes || len(text) > maxKeyBytes || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return fmt.Errorf("a key has %d to %d printable ASCII characters and no space", minKeyBytes, maxKeyBytes)
	}
	return nil
}

// clip bounds a text that a message repeats.
func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
