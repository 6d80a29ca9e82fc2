package snapshot_test

import (
	"fmt"

	"vcphost/sandbox/snapshot"
)

// An instance begins with what a started guest had in memory, and after each
// call it is back there.
func Example() {
	image, err := snapshot.NewImage([]byte("state after start"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer image.Close()
	mapping, err := image.Map(1 << 20)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer mapping.Unmap()

	copy(mapping.Bytes(), "what a call left!")
	mapping.Bytes()[1<<20-1] = 1
	if _, err := mapping.Restore(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, %d\n", mapping.Bytes()[:17], mapping.Bytes()[1<<20-1])
	// Output: state after start, 0
}
