<#
.SYNOPSIS
  Installs the launcher as a Windows service through NSSM. NOT RUN HERE: written on Linux, where it
  cannot be tried. Installing: docs/rpa-launcher.md.

.DESCRIPTION
  Run as administrator. Node 24 or newer and NSSM (https://nssm.cc) must be there. The .env file lies
  in -ConfigDirectory. The service starts with the machine, and again 5 s after it ended for whatever
  reason. It is stopped by Ctrl+C, and has -StopSeconds for what is under way.

.EXAMPLE
  .\install-service.ps1 -ConfigDirectory C:\RPA\SAM -Credential (Get-Credential DOMAIN\svc-sam)
#>
#Requires -RunAsAdministrator
[CmdletBinding(SupportsShouldProcess)]
param(
  [string] $ServiceName = 'CapatazRpaLauncher',
  [string] $ConfigDirectory = 'C:\RPA\SAM',
  [string] $DataDirectory = 'C:\RPA\SAM\data',
  [string] $LogDirectory = 'C:\RPA\Logs\SAM',
  [string] $Node = (Get-Command node.exe -ErrorAction Stop).Source,
  [string] $Nssm = (Get-Command nssm.exe -ErrorAction Stop).Source,
  # Who the service runs as. Default: LocalService.
  [pscredential] $Credential,
  # Longer than LANZADOR_SHUTDOWN_TIMEOUT_SEG, after which the launcher ends by itself.
  [int] $StopSeconds = 90
)

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

# Not bin\capataz-rpa.mjs: on Windows that stays between service and launcher, and dies of Ctrl+C first.
$program = (Resolve-Path (Join-Path $PSScriptRoot '..\src\main.ts')).Path

$version = [version]((& $Node --version).TrimStart('v'))
if ($version.Major -lt 24) { throw "Node $version is too old: 24 or newer is needed." }
if (-not (Test-Path (Join-Path $ConfigDirectory '.env'))) {
  throw "There is no .env in $ConfigDirectory."
}
foreach ($directory in $DataDirectory, $LogDirectory) {
  New-Item -ItemType Directory -Force -Path $directory | Out-Null
}

function Invoke-Nssm {
  & $Nssm @args
  if ($LASTEXITCODE -ne 0) { throw "nssm $($args[0]) $($args[2]) failed with $LASTEXITCODE" }
}

if (-not $PSCmdlet.ShouldProcess($ServiceName, 'Install service')) { return }

if (Get-Service -Name $ServiceName -ErrorAction SilentlyContinue) {
  Stop-Service -Name $ServiceName -Force
  Invoke-Nssm remove $ServiceName confirm
}

Invoke-Nssm install $ServiceName $Node
Invoke-Nssm set $ServiceName AppParameters "--max-old-space-size=128 --max-semi-space-size=1 --optimize-for-size --v8-pool-size=1 --conditions=capataz-source `"$program`" serve --data-dir `"$DataDirectory`""
# Spares every start but the first the stripping of types.
Invoke-Nssm set $ServiceName AppEnvironmentExtra "NODE_COMPILE_CACHE=$DataDirectory\compiled"
Invoke-Nssm set $ServiceName AppDirectory $ConfigDirectory
Invoke-Nssm set $ServiceName DisplayName 'Capataz RPA launcher'
Invoke-Nssm set $ServiceName Description 'Deploys and reconciles the robots of Automation 360.'
Invoke-Nssm set $ServiceName Start SERVICE_AUTO_START

# Again after every end, at most once in 5 s.
Invoke-Nssm set $ServiceName AppExit Default Restart
Invoke-Nssm set $ServiceName AppRestartDelay 5000
Invoke-Nssm set $ServiceName AppThrottle 5000

# Ctrl+C first; nothing harsher before the time is over.
Invoke-Nssm set $ServiceName AppStopMethodConsole ($StopSeconds * 1000)
Invoke-Nssm set $ServiceName AppStopMethodSkip 6

# What goes to the console; the launcher's own log turns over by itself.
Invoke-Nssm set $ServiceName AppStdout (Join-Path $LogDirectory 'capataz-rpa-console.log')
Invoke-Nssm set $ServiceName AppStderr (Join-Path $LogDirectory 'capataz-rpa-console.log')
Invoke-Nssm set $ServiceName AppRotateFiles 1
Invoke-Nssm set $ServiceName AppRotateOnline 1
Invoke-Nssm set $ServiceName AppRotateSeconds 86400

if ($Credential) {
  Invoke-Nssm set $ServiceName ObjectName $Credential.UserName $Credential.GetNetworkCredential().Password
} else {
  Invoke-Nssm set $ServiceName ObjectName 'NT AUTHORITY\LocalService'
}

Start-Service -Name $ServiceName
Get-Service -Name $ServiceName
