// Package checkpoint knows what a checkpoint is: all that a later job on another
// machine needs to resume a run, in one zip archive.
//
// In it are the files of the run (state.json, state.history, events.jsonl, logs/, transcripts/,
// workspace/) and a manifest that says what they are, where they come from and
// what each of them must be. With a key, all of that is sealed: the archive then has
// two files, an age file that holds the above, and a readable header.
//
//	plain:  manifest.json and the files
//	sealed: bundle.age, a zip of manifest.json and the files, encrypted to the
//	        first key's own recipient
//	        header.json: schema, which key, size and SHA-256 of bundle.age,
//	        and a MAC of these
//
// An age file keeps a secret, but anybody who knows the recipient can make one. What
// shows that a checkpoint is ours is the MAC, HMAC-SHA256 under a key that HKDF-SHA256
// derives from the identity's text. It covers every byte of bundle.age.
//
// The package also knows which conversations a run needs (Sessions) and where the
// directories of one machine are on another (Relocation). It knows nothing of
// artifacts as a service, of git, or of the agent CLI. Whether a checkpoint may be
// resumed is decided elsewhere.
package checkpoint
