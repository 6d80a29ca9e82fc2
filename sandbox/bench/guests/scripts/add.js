// The job of the benchmark as a process: invocation on standard input, payload
// on standard output.
const invocation = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { a, b } = invocation.arguments;
process.stdout.write(JSON.stringify({ status: "success", data: { sum: a + b, calls: 1 } }));
