@echo off
rem Finds the piton program and runs it, as bin/piton does on other systems: PITON_BIN, the program in the cache for exactly this
rem version, a prebuilt program once its checksum is the one in SHA256SUMS and it says this version, the program built in this checkout. If there
rem is none, setup builds it, and hook and statusline exit 0 silently.
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
if exist "%cache%\%version%\piton.exe" set "program=%cache%\%version%\piton.exe"
set "prebuilt=bin/prebuilt/%machine%-pc-windows-msvc/piton.exe"
set "file=%root%\bin\prebuilt\%machine%-pc-windows-msvc\piton.exe"
if not defined program if exist "%file%" call :take
if not defined program if exist "%root%\target\release\piton.exe" set "program=%root%\target\release\piton.exe"
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
  echo piton: cargo is missing; install the release, which has the program ^(https://github.com/piton-dev/piton#install^), or Rust 1.95 or newer ^(https://rustup.rs^), then run: piton setup 1>&2
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

rem Copies the prebuilt program into the cache, if its checksum is the recorded one and it says this version.
:take
set "found="
set "recorded="
if not exist "%root%\SHA256SUMS" goto refused
for /f "skip=1 delims=" %%s in ('certutil -hashfile "%file%" SHA256 2^>nul') do if not defined found set "found=%%s"
set "found=%found: =%"
for /f "usebackq tokens=1,2" %%a in ("%root%\SHA256SUMS") do if "%%b"=="%prebuilt%" set "recorded=%%a"
if not defined recorded goto refused
if /i not "%found%"=="%recorded%" goto refused
if not exist "%cache%\%version%" mkdir "%cache%\%version%"
set "new=%cache%\%version%\piton.%RANDOM%.exe"
copy /y "%file%" "%new%" >nul || exit /b
set "says="
for /f "delims=" %%s in ('""%new%" --version 2^>nul"') do if not defined says set "says=%%s"
if "%says%"=="piton %version%" (
  move /y "%new%" "%cache%\%version%\piton.exe" >nul
  set "program=%cache%\%version%\piton.exe"
  exit /b 0
)
del /q "%new%"
if not "%verb%"=="hook" if not "%verb%"=="statusline" echo piton: %prebuilt% is not used: it does not run here as piton %version% 1>&2
exit /b 0

:refused
if not "%verb%"=="hook" if not "%verb%"=="statusline" echo piton: %prebuilt% is not used: its checksum is not the one in SHA256SUMS 1>&2
exit /b 0
