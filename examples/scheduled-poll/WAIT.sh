# main waits until the agents have ended. It has no process while it waits.

echo '<join>REPORT.sh</join>'
