# main waits here until all workers have ended, wherever they ran. Nothing runs meanwhile.

echo '<join>REPORT.sh</join>'
