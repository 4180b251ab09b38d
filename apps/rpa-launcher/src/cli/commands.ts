import type { CommandParts, LauncherCommand } from './context.ts';
import {
  executablesCommand,
  executionsCommand,
  releaseCommand,
  runNowCommand,
  stopCommand,
} from './executions.ts';
import { assignCommand, devicesCommand, robotsCommand } from './masters.ts';
import { scheduleCommand } from './schedule.ts';
import { diagnoseCommand, restoreCommand, statusCommand } from './status.ts';

export function launcherCommands(parts: CommandParts): LauncherCommand[] {
  return [
    statusCommand(parts),
    diagnoseCommand(parts),
    robotsCommand(parts),
    devicesCommand(parts),
    assignCommand(parts),
    scheduleCommand(parts),
    executionsCommand(parts),
    executablesCommand(parts),
    runNowCommand(parts),
    stopCommand(parts),
    releaseCommand(parts),
    restoreCommand(parts),
  ];
}
