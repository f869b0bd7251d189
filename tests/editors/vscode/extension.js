// An extension for the test alone: writes each state of the diagnostics to STRAGGLER_LOG, and what
// is offered for the first finding.
'use strict';

const fs = require('fs');
const vscode = require('vscode');

function write(line) {
  fs.appendFileSync(process.env.STRAGGLER_LOG, `${line}\n`);
}

function places(uri) {
  const found = vscode.languages.getDiagnostics(uri).filter((it) => it.source === 'straggler');
  return found.map(({ range: { start }, code }) => `${start.line}:${start.character} ${code.value ?? code}`);
}

async function offered(uri) {
  const at = new vscode.Range(6, 13, 6, 13);
  const actions = await vscode.commands.executeCommand('vscode.executeCodeActionProvider', uri, at);
  write(`actions: ${actions.map((action) => action.title).join(', ')}`);
  const told = await vscode.commands.executeCommand('vscode.executeHoverProvider', uri, new vscode.Position(6, 2));
  const texts = told.flatMap((hover) => hover.contents.map((text) => text.value ?? text));
  write(`hover: ${texts.join(' ').split('\n')[0]}`);
  const show = actions.find((action) => action.title.startsWith('Show'));
  await vscode.commands.executeCommand(show.command.command, ...show.command.arguments);
}

exports.activate = function activate(context) {
  const last = new Map();
  const look = (uri) => {
    const name = uri.path.split('/').pop();
    const state = `${name}: ${places(uri).join(', ')}`;
    if ((last.get(name) ?? `${name}: `) === state) {
      return;
    }
    const first = last.size === 0 && name === 'p.go';
    last.set(name, state);
    write(state);
    if (first) {
      offered(uri).catch((error) => write(`failed: ${error}`));
    }
  };
  context.subscriptions.push(
    vscode.languages.onDidChangeDiagnostics((event) => event.uris.forEach(look)),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (document.languageId === 'markdown') {
        write(`shown: ${document.getText().split('\n')[0]}`);
      }
    }),
  );
  // The server may have been first.
  vscode.languages.getDiagnostics().forEach(([uri]) => look(uri));
};
