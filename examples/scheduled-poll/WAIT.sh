# main waits until the agents have ended. Nothing of it runs meanwhile.

echo '<join>REPORT.sh</join>'
