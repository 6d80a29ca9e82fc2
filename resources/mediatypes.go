package resources

import (
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"vcphost/abi"
)

// typeOfExtension gives the media type that a file name's extension (lower
// case, with its dot) stands for, "" if it is not known. The table is our own,
// because the operating system's differs from machine to machine.
func typeOfExtension(ext string) string {
	switch ext {
	case ".txt", ".log", ".text":
		return "text/plain"
	case ".md", ".markdown":
		return "text/markdown"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".htm", ".html":
		return "text/html"
	case ".css":
		return "text/css"
	case ".js", ".mjs":
		return "text/javascript"
	case ".ics":
		return "text/calendar"
	case ".vtt":
		return "text/vtt"
	case ".rtf":
		return "text/rtf"
	case ".json":
		return "application/json"
	case ".jsonl", ".ndjson":
		return "application/x-ndjson"
	case ".geojson":
		return "application/geo+json"
	case ".xml":
		return "application/xml"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".toml":
		return "application/toml"
	case ".sql":
		return "application/sql"
	case ".wasm":
		return "application/wasm"
	case ".bin":
		return octetStream
	}
	return typeOfMediaExtension(ext)
}

func typeOfMediaExtension(ext string) string {
	switch ext {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".bmp":
		return "image/bmp"
	case ".svg":
		return "image/svg+xml"
	case ".tif", ".tiff":
		return "image/tiff"
	case ".avif":
		return "image/avif"
	case ".heic":
		return "image/heic"
	case ".ico":
		return "image/x-icon"
	case ".mp3":
		return "audio/mpeg"
	case ".wav":
		return "audio/wav"
	case ".ogg", ".oga", ".opus":
		return "audio/ogg"
	case ".flac":
		return "audio/flac"
	case ".m4a":
		return "audio/mp4"
	case ".aac":
		return "audio/aac"
	case ".mp4":
		return "video/mp4"
	case ".webm":
		return "video/webm"
	case ".ogv":
		return "video/ogg"
	case ".mov":
		return "video/quicktime"
	case ".mkv":
		return "video/matroska"
	}
	return typeOfPackageExtension(ext)
}

func typeOfPackageExtension(ext string) string {
	const office = "application/vnd.openxmlformats-officedocument."
	switch ext {
	case ".pdf":
		return "application/pdf"
	case ".docx":
		return office + "wordprocessingml.document"
	case ".xlsx":
		return office + "spreadsheetml.sheet"
	case ".pptx":
		return office + "presentationml.presentation"
	case ".doc":
		return "application/msword"
	case ".xls":
		return "application/vnd.ms-excel"
	case ".ppt":
		return "application/vnd.ms-powerpoint"
	case ".odt":
		return "application/vnd.oasis.opendocument.text"
	case ".ods":
		return "application/vnd.oasis.opendocument.spreadsheet"
	case ".odp":
		return "application/vnd.oasis.opendocument.presentation"
	case ".epub":
		return "application/epub+zip"
	case ".jar":
		return "application/java-archive"
	case ".zip":
		return "application/zip"
	case ".gz", ".tgz":
		return "application/gzip"
	case ".tar":
		return "application/x-tar"
	case ".7z":
		return "application/x-7z-compressed"
	case ".bz2":
		return "application/x-bzip2"
	case ".xz":
		return "application/x-xz"
	case ".zst":
		return "application/zstd"
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".sqlite", ".db":
		return "application/vnd.sqlite3"
	}
	return ""
}

// extensionOf gives the extension, with its dot, of a file of a media type;
// "" where there is no usual one.
func extensionOf(mimeType string) string {
	switch mimeType {
	case "text/markdown":
		return ".md"
	case "text/css":
		return ".css"
	case "application/yaml":
		return ".yaml"
	case "application/toml":
		return ".toml"
	case octetStream:
		return ".bin"
	}
	if m := mimetype.Lookup(mimeType); m != nil {
		return m.Extension()
	}
	return ""
}

// kindOf infers a kind from a media type (VCP Tool Result Protocol 1.0 §7.2).
func kindOf(mimeType string) abi.ResourceKind {
	top, sub, _ := strings.Cut(mimeType, "/")
	switch {
	case top == "image":
		return abi.KindImage
	case top == "audio":
		return abi.KindAudio
	case top == "video":
		return abi.KindVideo
	case mimeType == octetStream:
		return abi.KindBinary
	case isDocument(sub):
		return abi.KindDocument
	case isArchive(sub):
		return abi.KindArchive
	case top == "text", isTextual(sub):
		return abi.KindText
	case top == "application":
		return abi.KindBinary
	}
	return abi.KindOther
}

func isDocument(sub string) bool {
	switch sub {
	case "pdf", "rtf", "msword", "epub+zip", "postscript", "vnd.ms-excel", "vnd.ms-powerpoint":
		return true
	}
	return strings.HasPrefix(sub, "vnd.openxmlformats-officedocument.") || strings.HasPrefix(sub, "vnd.oasis.opendocument.")
}

func isArchive(sub string) bool {
	switch sub {
	case "zip", "gzip", "x-tar", "x-7z-compressed", "x-bzip2", "x-xz", "zstd", "lzip", "vnd.rar", "java-archive", "x-cpio", "x-archive", "vnd.ms-cab-compressed":
		return true
	}
	return false
}

func isTextual(sub string) bool {
	switch sub {
	case "json", "xml", "yaml", "toml", "sql", "javascript", "x-ndjson", "x-subrip":
		return true
	}
	return strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml")
}
