# What this machine is like from inside the cage. docs/first-run.md says what to look for.
echo "kernel: $(uname -srm)"
echo "security modules: $(cat /sys/kernel/security/lsm 2>&1)"
echo "api.github.com: $(curl -sS -o /dev/null -w '%{http_code} from %{remote_ip}' https://api.github.com 2>&1)"
for tool in git go node python3; do
  echo "$tool: $(command -v "$tool") $("$tool" version 2>/dev/null || "$tool" --version 2>&1)"
done
echo "<goto>CHOOSE.md</goto>"
