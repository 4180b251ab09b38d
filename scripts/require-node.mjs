// Plain JavaScript that old Nodes can parse. Every entry into the workspace imports this first:
// npm falls back to the machine's own Node in silence when the pinned one is missing.
const neededMajor = 24;

if (Number(process.versions.node.split('.')[0]) < neededMajor) {
  console.error(
    `This workspace needs Node ${neededMajor} or newer, but this is Node ${process.versions.node} (${process.execPath}); run \`npm ci\` and start commands through npm (\`npm run <command>\`), or install Node ${neededMajor} where npm has no build of it for this platform.`,
  );
  process.exit(1);
}
