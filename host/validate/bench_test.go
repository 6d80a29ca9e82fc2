package validate

import (
	"testing"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

const scheduleOutput = `{"type":"object","properties":{"schedules":{"type":"array","items":{"type":"object","properties":{
	"id":{"type":"string"},"time":{"type":"string","format":"date-time"},"content":{"type":"string"}},"required":["id","time","content"]}}},"required":["schedules"]}`

// BenchmarkPayload reads the list of §13.4.
func BenchmarkPayload(b *testing.B) {
	examples := examplePayloads()
	raw := []byte(examples[len(examples)-1].document)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Payload(raw, abi.PhaseSync, rawjson.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkArguments checks a valid and small arguments object.
func BenchmarkArguments(b *testing.B) {
	s := compile(b, plotArguments)
	raw := []byte(`{"command":"Plot","data":{"$resource":"res_01J9ZQ3V5K7M2N4P6R8S0T1V3X"},"rows":[1,2,3]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Arguments(s, raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkData checks the data of §13.4 against the schema of §9.3.
func BenchmarkData(b *testing.B) {
	s := compile(b, scheduleOutput)
	raw := []byte(`{"schedules":[{"id":"sch_01J9ZQ3V5K7M2N4P6R8S0T1V3X","time":"2026-07-12T10:00:00+08:00","content":"meeting"}],"total":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Data(s, raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile compiles a typical input schema.
func BenchmarkCompile(b *testing.B) {
	c := newCompiler(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compile([]byte(plotArguments)); err != nil {
			b.Fatal(err)
		}
	}
}
