// Runs a built simulator in a process of its own: main.js, then its arguments.
import { pathToFileURL } from 'node:url';

const [file, ...words] = process.argv.slice(2);
const { main } = await import(pathToFileURL(file).href);
process.exitCode = await main(words, (line) => console.log(line));
