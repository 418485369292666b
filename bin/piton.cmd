@echo off
rem Finds the piton program and runs it, as bin/piton does on other systems: PITON_BIN, the program in the cache for exactly this
rem version, a prebuilt program, the program built in this checkout. If there is none, setup builds it, and hook and statusline exit 0 silently.
setlocal
set "root=%~dp0.."
set "verb=%~1"
set "program="
set "version="

if defined PITON_BIN (
  if exist "%PITON_BIN%" set "program=%PITON_BIN%"
  if not exist "%PITON_BIN%" set "why=PITON_BIN is not a program: %PITON_BIN%"
  goto chosen
)
for /f "tokens=2 delims=:, " %%v in ('findstr /c:"\"version\":" "%root%\.claude-plugin\plugin.json"') do if not defined version set "version=%%~v"
if defined PITON_CACHE (set "cache=%PITON_CACHE%") else if defined XDG_CACHE_HOME (set "cache=%XDG_CACHE_HOME%\piton") else if defined HOME (set "cache=%HOME%\.cache\piton") else (set "cache=%USERPROFILE%\.cache\piton")

if "%verb%"=="setup" if "%~2"=="--rebuild" goto build
set "why=its program is missing; run: piton setup"
set "machine=x86_64"
if /i "%PROCESSOR_ARCHITECTURE%"=="ARM64" set "machine=aarch64"
for %%p in ("%cache%\%version%\piton.exe" "%root%\bin\prebuilt\%machine%-pc-windows-msvc\piton.exe" "%root%\target\release\piton.exe") do (
  if not defined program if exist "%%~p" set "program=%%~p"
)
if not defined program if "%verb%"=="setup" if "%~2"=="" goto build

:chosen
if defined program (
  "%program%" %*
  exit /b
)
if "%verb%"=="hook" exit /b 0
if "%verb%"=="statusline" exit /b 0
echo piton: %why% 1>&2
exit /b 127

:build
where cargo >nul 2>nul || (
  echo piton: cargo is missing; install Rust 1.95 or newer ^(https://rustup.rs^), then run: piton setup 1>&2
  exit /b 127
)
echo piton: building version %version% into %cache%\%version%; once, about 7 minutes with two processors 1>&2
rem In the caller's folder, cargo and rustup would follow untrusted settings and run the programs they name.
pushd "%root%" || exit /b 127
cargo build --profile dist --locked --bin piton --target-dir "%cache%\build" 1>&2 || exit /b 127
popd
if not exist "%cache%\%version%" mkdir "%cache%\%version%"
copy /y "%cache%\build\dist\piton.exe" "%cache%\%version%\piton.exe" >nul || exit /b 127
rmdir /s /q "%cache%\build"
if "%~2"=="--rebuild" (
  "%cache%\%version%\piton.exe" setup
) else (
  "%cache%\%version%\piton.exe" %*
)
exit /b
