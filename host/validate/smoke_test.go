package validate

import (
	"testing"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

func TestSmoke(t *testing.T) {
	c, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile([]byte(`{"type":"object","properties":{"command":{"const":"Plot"},"data":{"$ref":"vcp:resource"},"column":{"type":"string"}},"required":["data"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{`{}`, `{"data":{"$resource":"x"}}`, `{"data":"x","column":3,"colum":1}`, `{"command":"Plat","data":{"$resource":""}}`, `[]`} {
		t.Logf("%s -> %v", in, s.Problems([]byte(in)))
		if e := Arguments(s, []byte(in)); e != nil {
			t.Logf("   %v %s %s", e, e.Target, e.Details)
		}
	}
	_, e := Payload([]byte(`{"status":"success","data":{},"id":"x"}`), abi.PhaseSync, rawjson.Limits{})
	t.Log(e, string(e.Details))
	t.Log(c.Manifest([]byte(`{"name":"x","pluginType":"synchronous","entryPoint":{"type":"wasm","module":"../x.wasm"},"sandbox":{"memoryMib":3,"permissions":[{"kind":"kv","reason":"x","byte":1},{"kind":"bogus","reason":"s"}]}}`)))
}

func BenchmarkPayload(b *testing.B) {
	raw := []byte(`{"status":"success","data":{"schedules":[{"id":"sch_1","time":"2026-07-12T10:00:00+08:00","content":"meeting"}],"total":1},"resources":[],"warnings":[],"presentation":{"summary":"1","preferredView":"schedule-list"},"extensions":{}}`)
	for b.Loop() {
		Payload(raw, abi.PhaseSync, rawjson.Limits{})
	}
}

func BenchmarkProblems(b *testing.B) {
	c, _ := NewCompiler()
	s, _ := c.Compile([]byte(`{"type":"object","properties":{"schedules":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"time":{"type":"string","format":"date-time"},"content":{"type":"string"}},"required":["id","time","content"]}}},"required":["schedules"]}`))
	raw := []byte(`{"schedules":[{"id":"sch_1","time":"2026-07-12T10:00:00+08:00","content":"meeting"}],"total":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if p := s.Problems(raw); p != nil {
			b.Fatal(p)
		}
	}
}
