// SPDX-License-Identifier: Apache-2.0
// The types say what the classes have: compare_types.mjs TYPESCRIPT FOLDER-OF-PACKAGE
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const typescript = createRequire(import.meta.url)(process.argv[2]);
const folder = pathToFileURL(`${process.argv[3]}/`);
const library = await import(new URL('privatemail.js', folder));
const text = readFileSync(new URL('privatemail.d.ts', folder), 'utf8');
const file = typescript.createSourceFile('privatemail.d.ts', text, typescript.ScriptTarget.ES2020);

const { StaticKeyword } = typescript.SyntaxKind;
const nameOf = ({ modifiers, name }) =>
    (modifiers?.some(({ kind }) => kind === StaticKeyword) ? 'static ' : '') + name.text;
const declared = new Map();
for (const statement of file.statements) {
    if (typescript.isClassDeclaration(statement)) {
        const members = statement.members.filter((member) => typescript.isMethodDeclaration(member) ||
            typescript.isGetAccessor(member));
        declared.set(statement.name.text, members.map(nameOf));
    } else if (typescript.isFunctionDeclaration(statement)) {
        declared.set(statement.name.text, null);
    }
}

const ofClass = (object) => [
    ...Object.getOwnPropertyNames(object.prototype).filter((name) => name !== 'constructor'),
    ...Object.getOwnPropertyNames(object).filter((name) => typeof object[name] === 'function')
        .map((name) => `static ${name}`),
];
assert.deepEqual([...declared.keys()].sort(), Object.keys(library).sort());
for (const [name, members] of declared) {
    if (members)
        assert.deepEqual(members.sort(), ofClass(library[name]).sort(), name);
}
console.log(`${declared.size} names, ${[...declared.values()].flat().length} members`);
