package main

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	guest "vcphost/abi/guest/go"
)

// run calls a command and decodes its data into *data, unless that is nil.
func run(t *testing.T, fake *guest.Fake, command, args string, data any) *guest.Recording {
	t.Helper()
	r, err := plugin.Run(command, json.RawMessage(args), fake)
	if err != nil {
		t.Fatalf("run %s: %v", command, err)
	}
	if data != nil {
		if r.Status != "success" {
			t.Fatalf("%s %s: got status %s, error %v, want success", command, args, r.Status, r.Error)
		}
		if err := json.Unmarshal(r.Data, data); err != nil {
			t.Fatalf("decode data: %v", err)
		}
	}
	return r
}

func TestAddListDelete(t *testing.T) {
	fake := &guest.Fake{}
	var first, second, gone change
	run(t, fake, "AddSchedule", `{"command":"AddSchedule","time":"2026-07-12T09:00:00Z","content":"later"}`, &first)
	r := run(t, fake, "AddSchedule", `{"time":"2026-07-12T10:00:00+08:00","content":" 项目会议 "}`, &second)

	want := `"presentation":{"summary":"日程已添加","preferredView":"schedule-card"}`
	if !strings.Contains(string(r.Payload), want) {
		t.Errorf("got payload %s, want it to hold %s", r.Payload, want)
	}
	if second.Operation != "created" || second.Schedule.Content != "项目会议" || second.Schedule.Time != "2026-07-12T10:00:00+08:00" {
		t.Errorf("got %+v", second)
	}
	if id := regexp.MustCompile(`^sch_[A-Z2-7]{26}$`); !id.MatchString(first.Schedule.ID) || first.Schedule.ID == second.Schedule.ID {
		t.Errorf("got ids %q and %q", first.Schedule.ID, second.Schedule.ID)
	}

	var all list
	run(t, fake, "ListSchedules", `{}`, &all)
	if all.Total != 2 || all.Schedules[0].ID != second.Schedule.ID {
		t.Errorf("got %+v, want the +08:00 schedule first", all)
	}
	run(t, fake, "DeleteSchedule", `{"id":"`+first.Schedule.ID+`"}`, &gone)
	if gone.Operation != "deleted" || gone.Schedule != first.Schedule {
		t.Errorf("got %+v, want %+v", gone, first)
	}
	run(t, fake, "ListSchedules", `{}`, &all)
	if all.Total != 1 || len(all.Schedules) != 1 {
		t.Errorf("got %+v, want one schedule", all)
	}
}

func TestListIsEmptyArray(t *testing.T) {
	r := run(t, nil, "ListSchedules", `{"command":"ListSchedules"}`, nil)
	if got, want := string(r.Data), `{"schedules":[],"total":0}`; got != want {
		t.Errorf("got data %s, want %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, command, args string
		fake                guest.Fake
		code, target        string
	}{
		{name: "no time", command: "AddSchedule", args: `{"content":"x"}`, code: "INVALID_ARGUMENT", target: "time"},
		{name: "no zone", command: "AddSchedule", args: `{"time":"2026-07-12T10:00:00","content":"x"}`, code: "INVALID_ARGUMENT", target: "time"},
		{name: "30 February", command: "AddSchedule", args: `{"time":"2026-02-30T10:00:00Z","content":"x"}`, code: "INVALID_ARGUMENT", target: "time"},
		{name: "blank content", command: "AddSchedule", args: `{"time":"2026-07-12T10:00:00Z","content":" \n"}`, code: "INVALID_ARGUMENT", target: "content"},
		{name: "unknown argument", command: "ListSchedules", args: `{"day":"x"}`, code: "INVALID_ARGUMENT", target: "day"},
		{name: "unknown id", command: "DeleteSchedule", args: `{"id":"sch_x"}`, code: "SCHEDULE.NOT_FOUND", target: "id"},
		{name: "unknown command", command: "Add", args: `{}`, code: "UNKNOWN_COMMAND", target: "command"},
		{name: "store full", command: "AddSchedule", args: `{"time":"2026-07-12T10:00:00Z","content":"x"}`,
			fake: guest.Fake{Fail: map[string]guest.Errno{"kv_set": guest.ErrLimit}}, code: "SCHEDULE.STORE_FULL"},
		{name: "store refused", command: "ListSchedules", args: `{}`,
			fake: guest.Fake{Fail: map[string]guest.Errno{"kv_get": guest.ErrNotGranted}}, code: "PLUGIN.ERROR"},
		{name: "store damaged", command: "ListSchedules", args: `{}`,
			fake: guest.Fake{KV: map[string][]byte{schedulesKey: []byte(`[{"time":"x"}]`)}}, code: "PLUGIN.ERROR"},
		{name: "too many", command: "AddSchedule", args: `{"time":"2026-07-12T10:00:00Z","content":"x"}`,
			fake: guest.Fake{KV: map[string][]byte{schedulesKey: many(maxSchedules)}}, code: "SCHEDULE.TOO_MANY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, &tt.fake, tt.command, tt.args, nil)
			if r.Status != "error" || !errors.Is(r.Error, &guest.Error{Code: tt.code}) || r.Error.Target != tt.target {
				t.Errorf("got %s, want code %s, target %q", r.Payload, tt.code, tt.target)
			}
		})
	}
}

func TestBadTimeSaysWhatIsExpected(t *testing.T) {
	r := run(t, nil, "AddSchedule", `{"time":"tomorrow","content":"x"}`, nil)
	if want := `"details":{"expected":"RFC 3339"}`; !strings.Contains(string(r.Payload), want) {
		t.Errorf("got %s, want it to hold %s", r.Payload, want)
	}
}

// TestManifestNamesTheCommands holds the manifest against the code.
func TestManifestNamesTheCommands(t *testing.T) {
	raw, err := os.ReadFile("plugin-manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Capabilities struct {
			InvocationCommands []struct{ CommandIdentifier string }
		}
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatalf("decode manifest: %v", err)
	}
	for _, command := range manifest.Capabilities.InvocationCommands {
		r := run(t, nil, command.CommandIdentifier, `{}`, nil)
		if r.Error != nil && r.Error.Code == "UNKNOWN_COMMAND" {
			t.Errorf("the manifest has %s, the plugin has not", command.CommandIdentifier)
		}
	}
}

func many(n int) []byte {
	one := `{"id":"sch_x","time":"2026-07-12T10:00:00Z","content":"x"}`
	return []byte("[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]")
}
