package resources

import (
	"context"
	"io"

	"vcphost/abi"
)

// uploadDraftID names the only draft of an import's session.
const uploadDraftID = "upload"

// copyBytes is the piece in which an import moves bytes.
const copyBytes = 64 << 10

// Import stores what r gives as a resource of owner and publishes it. The draft
// needs no id; its source is upload where it names none. More than maxBytes
// (zero means [DefaultMaxResourceBytes]) is an *abi.Error RESOURCE_TOO_LARGE,
// and as for any other failure nothing is left. An error of r is the cause of an
// INVALID_ARGUMENT.
func (s *Store) Import(ctx context.Context, owner abi.Owner, draft abi.ResourceDraft, r io.Reader, maxBytes int64) (abi.Resource, error) {
	c := s.Begin(owner, "", Limits{MaxResources: 1, MaxResourceBytes: maxBytes})
	c.source.Type = abi.SourceUpload
	c.settings = ""
	defer func() {
		if err := c.Discard(); err != nil {
			s.log.Warn("discard import", "error", err)
		}
	}()
	if draft.ID == "" {
		draft.ID = uploadDraftID
	}
	sink, err := c.Create(ctx, draft)
	if err != nil {
		return abi.Resource{}, err
	}
	if err := copyTo(ctx, sink, r); err != nil {
		return abi.Resource{}, err
	}
	if err := sink.Close(); err != nil {
		return abi.Resource{}, err
	}
	resource := c.Finished()[0].Resource
	if err := c.Publish(ctx); err != nil {
		return abi.Resource{}, err
	}
	return resource, nil
}

// copyTo copies until r ends, and tells the two sides' errors apart.
func copyTo(ctx context.Context, sink io.Writer, r io.Reader) error {
	buffer := make([]byte, copyBytes)
	for {
		if err := ctx.Err(); err != nil {
			return storeError("store upload", err)
		}
		n, readErr := r.Read(buffer)
		if n > 0 {
			if _, err := sink.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			return abi.NewError(abi.CodeInvalidArgument, "the upload broke off").WithCause(readErr)
		}
	}
}
