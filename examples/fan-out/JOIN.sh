# main waits here until all workers have ended, on all runners. Nothing runs while it waits.

echo '<join>REPORT.sh</join>'
