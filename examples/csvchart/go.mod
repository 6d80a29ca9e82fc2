module vcphost.example/csvchart

go 1.26.5

require (
	github.com/go-analyze/charts v0.6.4
	vcphost v0.0.0
)

require (
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	golang.org/x/image v0.48.0 // indirect
)

replace vcphost => ../..
