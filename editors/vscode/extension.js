// Runs `straggler lsp` for the Go files of a window, as long as the settings want it to.
'use strict';

const fs = require('fs');
const path = require('path');
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** @type {LanguageClient | undefined} */
let client;

/** What is done to the server is done one after the other. */
let work = Promise.resolve();

/** Settings that the server is started with; it is told of changes of all others. */
const OF_THE_START = ['enable', 'path', 'workspaceDiagnostics'].map((name) => `straggler.${name}`);

/** The program that the settings name, or that comes with the extension, or of PATH. */
function program(context, settings) {
  const named = settings.get('path', '').trim();
  if (named) {
    return named;
  }
  const name = process.platform === 'win32' ? 'straggler.exe' : 'straggler';
  const bundled = path.join(context.extensionPath, 'bin', name);
  return fs.existsSync(bundled) ? bundled : name;
}

async function start(context, log) {
  const settings = vscode.workspace.getConfiguration('straggler');
  if (!settings.get('enable', true)) {
    return;
  }
  const command = program(context, settings);
  // Where programs are looked for in the working directory, that is not the workspace.
  const options = { cwd: context.extensionPath };
  client = new LanguageClient(
    'straggler',
    'straggler',
    { command, args: ['lsp'], options },
    {
      documentSelector: [{ scheme: 'file', language: 'go' }],
      initializationOptions: settings,
      synchronize: { configurationSection: 'straggler' },
      outputChannel: log,
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    log.appendLine(`${command}: ${error}`);
    const open = 'Open Settings';
    const message = `straggler cannot be run as \`${command}\`: install it, or say where it is.`;
    vscode.window.showErrorMessage(message, open).then((chosen) => {
      if (chosen === open) {
        vscode.commands.executeCommand('workbench.action.openSettings', 'straggler.path');
      }
    });
  }
}

async function stop() {
  const running = client;
  client = undefined;
  // One that has failed cannot be stopped.
  await running?.stop().catch(() => {});
}

function restart(context, log) {
  work = work.then(stop).then(() => start(context, log));
  return work;
}

exports.activate = function activate(context) {
  const log = vscode.window.createOutputChannel('straggler');
  context.subscriptions.push(
    log,
    vscode.commands.registerCommand('straggler.restart', () => restart(context, log)),
    vscode.commands.registerCommand('straggler.showLogs', () => log.show()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (OF_THE_START.some((name) => event.affectsConfiguration(name))) {
        restart(context, log);
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => restart(context, log)),
  );
  return restart(context, log);
};

exports.deactivate = function deactivate() {
  work = work.then(stop);
  return work;
};
