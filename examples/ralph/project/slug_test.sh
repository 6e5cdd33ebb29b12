# What slug.sh must do. Run it where slug.sh is.

fail=0
while IFS='|' read -r text want; do
	got=$(bash slug.sh "$text")
	if [ "$got" != "$want" ]; then
		echo "slug.sh '$text': got '$got', want '$want'" >&2
		fail=1
	fi
done <<'END'
Hello, World!|hello-world
  two   words |two-words
v1.2|v1-2
END
exit $fail
