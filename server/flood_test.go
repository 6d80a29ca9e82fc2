package server_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"vcphost/internal/lockbuf"
	"vcphost/server"
	"vcphost/server/servertest"
)

// floodLog is a log that many write to.
type floodLog struct{ lockbuf.Buffer }

// requests gives the lines about requests by request id.
func (l *floodLog) requests(t *testing.T) map[string]map[string]any {
	t.Helper()
	byID := map[string]map[string]any{}
	for line := range strings.Lines(l.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if entry["msg"] == "request" {
			byID[fmt.Sprint(entry["requestId"])] = entry
		}
	}
	return byID
}

// kept is what a flood must find again when it is over.
type kept struct{ path, answer, requestID, route string }

// TestNothingIsMixedUp sends values that are all different from many clients
// at once: what one request said must never show up in another's answer, log
// line or stored objects, also not after its memory was used again.
func TestNothingIsMixedUp(t *testing.T) {
	var log floodLog
	w := servertest.Start(t, &servertest.Options{Plugins: tools(), Change: func(o *server.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	}})
	const clients, rounds = 16, 8
	found := make(chan kept, clients*rounds*8)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for round := range rounds {
				// Values of many lengths, so that what is used again never fits.
				own := fmt.Sprintf("c%dr%d%s", client, round, strings.Repeat(string(rune('a'+client)), (client*round)%60))
				for _, k := range floodRound(t, w, own) {
					found <- k
				}
			}
		})
	}
	wg.Wait()
	close(found)
	lines := log.requests(t)
	for k := range found {
		if line := lines[k.requestID]; line == nil || line["route"] != k.route {
			t.Errorf("the log of %s, of the route %s, is %v", k.requestID, k.route, line)
		} else if invocation := memberOf(t, []byte(k.answer), "execution", "invocationId"); invocation != "" && line["invocationId"] != invocation {
			t.Errorf("the log of %s names %v, its result %s", k.requestID, line["invocationId"], invocation)
		}
		if k.path == "" {
			continue
		}
		if status, _, body := w.Do(t, "GET", k.path, "", ""); status != 200 || string(body) != k.answer {
			t.Errorf("%s of %s became %d %s\nand was %s", k.path, k.requestID, status, body, k.answer)
		}
	}
}

// floodRound sends one request of each sort, and checks that its answer speaks
// of nothing but own.
func floodRound(t *testing.T, w *servertest.Server, own string) []kept {
	long := own + strings.Repeat("-"+own, 20)
	var list []kept
	for i, s := range []struct {
		method, path, kind, body string
		route                    string
		stored                   string // where the answer's object is, % its id
		members                  map[string]string
	}{
		{"POST", "/v1/human/tool", "application/json", `{"tool":"Echo.Run","arguments":{"title":"` + long + `"}}`, "POST /v1/human/tool", "/v1/results/%",
			map[string]string{"data.arguments.title": long}},
		{"POST", "/v1/tools/Echo/Other", "application/json", `{"title":"` + own + `"}`, "POST /v1/tools/{tool}/{command}", "/v1/results/%",
			map[string]string{"data.arguments.title": own}},
		{"POST", "/v1/human/tool", "text/plain", block("maid="+own, "tool_name=Echo", "command=Other", "title="+long), "POST /v1/human/tool", "/v1/results/%",
			map[string]string{"data.arguments.title": long, "data.arguments.maid": own, "actor.maid": own}},
		{"POST", "/v1/tools/" + own + "/Run", "application/json", `{}`, "POST /v1/tools/{tool}/{command}", "/v1/results/%",
			map[string]string{"tool.name": own + ".Run", "error.code": "TOOL_NOT_FOUND"}},
		{"GET", "/v1/nowhere/" + own, "", "", "unrouted", "", map[string]string{"instance": "/v1/nowhere/" + own}},
		{"GET", "/v1/results/" + own + "?pointer=/" + own, "", "", "GET /v1/results/{id}", "", map[string]string{"instance": "/v1/results/" + own}},
		{"POST", "/v1/human/tool", "application/json", `{"` + own + `":1}`, "POST /v1/human/tool", "", map[string]string{"pointer": "/" + own}},
		{"POST", "/v1/resources", "text/plain", long, "POST /v1/resources", "/v1/resources/%/descriptor", map[string]string{"fileName": own + ".txt"}},
	} {
		id := fmt.Sprintf("%s.%d", own, i)
		_, header, body := request(t, w.URL, s.method, s.path, s.body, map[string]string{
			"Authorization": bearer(w.Secret), "Content-Type": s.kind, "X-Request-Id": id,
			"Content-Disposition": `attachment; filename="` + own + `.txt"`,
		})
		if header.Get("X-Request-Id") != id {
			t.Errorf("%s is answered as %s", id, header.Get("X-Request-Id"))
		}
		for path, want := range s.members {
			if got := memberOf(t, body, strings.Split(path, ".")...); got != want {
				t.Errorf("%s: %s is %q, want %q in %s", id, path, got, want, body)
			}
		}
		k := kept{requestID: id, route: s.route, answer: string(body)}
		if s.stored != "" {
			k.path = strings.Replace(s.stored, "%", memberOf(t, body, "id"), 1)
		}
		list = append(list, k)
	}
	return list
}
