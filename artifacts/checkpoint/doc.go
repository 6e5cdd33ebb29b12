// Package checkpoint defines the format of a checkpoint: one zip archive with everything that a later job,
// on another machine, needs to resume a run.
//
// The archive contains the files of the run (state.json, state.history, events.jsonl, logs/, transcripts/,
// workspace/) and a manifest. The manifest lists their sizes and hashes and describes the run. With a key,
// the checkpoint is sealed. Then these files are encrypted, and the archive consists of two files: the
// encrypted archive and a readable header.
//
//	plain:  manifest.json and the files
//	sealed: bundle.age, a zip of manifest.json and the files, encrypted to the
//	        recipient of the first key
//	        header.json: schema, fingerprint of the key, size and SHA-256 of
//	        bundle.age, and a MAC of these
//
// Encryption with age doesn't authenticate the sender: anyone who knows the recipient can create an age
// file. The MAC proves that someone with the key made the checkpoint. The MAC is an HMAC-SHA256 whose key
// HKDF-SHA256 derives from the text of the identity. Through the hash, it covers every byte of bundle.age.
//
// The package also lists the conversations that a run needs (Sessions), and maps directories on one machine
// to directories on another (Relocation). It doesn't depend on artifact services, git, or agent CLIs. Other
// packages decide whether a checkpoint may be resumed.
package checkpoint
