package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Options are settings of a log. The zero value is usable.
type Options struct {
	Level slog.Leveler // nil is info
	// Secrets are texts that must not be logged, beside those that have the form
	// of a secret.
	Secrets []string
	// Context gives attributes that a line has by its context, such as the id of
	// a trace. Nil gives none.
	Context func(ctx context.Context) []slog.Attr
}

// New makes a log that writes one JSON object a line.
func New(w io.Writer, opts *Options) *slog.Logger {
	if opts == nil {
		opts = &Options{}
	}
	return slog.New(Mask(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: opts.Level}), opts))
}

// Mask wraps a handler so that it gets no secret. Level of opts is the inner
// handler's business and is not read.
func Mask(inner slog.Handler, opts *Options) slog.Handler {
	if opts == nil {
		opts = &Options{}
	}
	return &handler{inner: inner, masker: NewMasker(opts.Secrets...), words: secretWords(), context: opts.Context}
}

// handler masks what it passes on.
type handler struct {
	inner   slog.Handler
	masker  *Masker
	words   []string
	context func(ctx context.Context) []slog.Attr
}

// Enabled asks the inner handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle passes a masked copy of the record on.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	copied := slog.NewRecord(record.Time, record.Level, h.masker.Text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		copied.AddAttrs(h.attr(a))
		return true
	})
	if h.context != nil {
		copied.AddAttrs(h.context(ctx)...)
	}
	return h.inner.Handle(ctx, copied)
}

// WithAttrs masks the attributes once.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return h.with(h.inner.WithAttrs(clean))
}

// WithGroup opens a group in the inner handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return h.with(h.inner.WithGroup(h.masker.Text(name)))
}

func (h *handler) with(inner slog.Handler) *handler {
	other := *h
	other.inner = inner
	return &other
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	if secretName(h.words, a.Key) {
		return slog.String(h.masker.Text(a.Key), masked)
	}
	return slog.Attr{Key: h.masker.Text(a.Key), Value: h.value(a.Value)}
}

func (h *handler) value(v slog.Value) slog.Value {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(h.masker.Text(v.String()))
	case slog.KindGroup:
		attrs := v.Group()
		clean := make([]slog.Attr, len(attrs))
		for i, a := range attrs {
			clean[i] = h.attr(a)
		}
		return slog.GroupValue(clean...)
	case slog.KindAny:
		return h.any(v.Any())
	}
	return v
}

// any masks a value of any type. Errors and what has a text of its own become
// that text; the rest is seen as its JSON.
func (h *handler) any(v any) (clean slog.Value) {
	defer func() {
		if recover() != nil { // of a method of the value, such as one of a nil pointer
			clean = slog.StringValue("!PANIC")
		}
	}()
	switch v := v.(type) {
	case nil:
		return slog.AnyValue(nil)
	case error:
		return slog.StringValue(h.masker.Text(v.Error()))
	case json.RawMessage: // is seen as JSON below
	case []byte: // JSON would write it in Base64, where no secret shows
		return slog.StringValue(h.masker.Text(string(v)))
	case fmt.Stringer:
		return slog.StringValue(h.masker.Text(v.String()))
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return slog.StringValue(h.masker.Text(fmt.Sprint(v)))
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return slog.StringValue(h.masker.Text(string(raw)))
	}
	return slog.AnyValue(h.plain(plain))
}

// plain masks a decoded JSON value.
func (h *handler) plain(v any) any {
	switch v := v.(type) {
	case string:
		return h.masker.Text(v)
	case []any:
		for i, element := range v {
			v[i] = h.plain(element)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			if secretName(h.words, name) {
				clean[h.masker.Text(name)] = masked
			} else {
				clean[h.masker.Text(name)] = h.plain(member)
			}
		}
		return clean
	}
	return v
}
