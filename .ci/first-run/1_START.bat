@rem What this machine is like. docs/first-run.md says what to look for.
@echo off
ver
where git go node python
echo ^<goto^>CHOOSE.md^</goto^>
exit /b 0
