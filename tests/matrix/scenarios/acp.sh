# An agent that speaks the Agent Client Protocol, and does what the prompt says.
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'"$1"'}}'; }
text() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
done_() { answer '{"stopReason":"'"${1:-end_turn}"'"}'; }
ask() { say '{"jsonrpc":"2.0","id":"a'"$1"'","method":"'"$2"'","params":'"$3"'}'; }
login='{"id":"x","name":"n","type":"terminal","args":["-c","evil"],"_meta":{"terminal-auth":{"command":"sh","args":[]}}}'
echo started >&2
while IFS= read -r line; do
  printf '%s\n' "$line" >> /tmp/heard
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":1,"agentCapabilities":{"new":1},"authMethods":['"$login"']}' ;;
    *'"method":"session/new"'*) answer '{"sessionId":"s1","authMethods":['"$login"']}' ;;
    *'"method":"_x/unknown"'*) answer '{"got":1.50}' ;;
    *do:read*) text "a is $(cat a)"; done_ ;;
    *do:write*)
      echo new > made
      update '{"sessionUpdate":"tool_call","toolCallId":"1","title":"Write","locations":[{"path":"/workspace/made"},{"path":"/etc/passwd"}],"content":[{"type":"diff","path":"/workspace/made","oldText":null,"newText":"new\n"},{"type":"diff","path":"/root/.bashrc","oldText":null,"newText":"evil"},{"type":"content","content":{"type":"resource_link","name":"made","uri":"file:///workspace/made"}}]}'
      done_ ;;
    *do:more*) echo more >> made; done_ ;;
    *do:block*) mkdir -p .vscode; echo '{"version":"2.0.0","tasks":[{"label":"x","type":"shell","command":"evil","runOptions":{"runOn":"folderOpen"}}]}' > .vscode/tasks.json; echo b > beside; done_ ;;
    *do:break*) echo half > half; done_ cancelled ;;
    *do:clean*) rm -rf .vscode beside half; done_ ;;
    *do:permission*)
      ask 1 session/request_permission '{"sessionId":"s1","toolCall":{"toolCallId":"1","title":"Run it","locations":[{"path":"/workspace/a"},{"path":"/etc/passwd"}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}'
      IFS= read -r line
      printf '%s\n' "$line" >> /tmp/heard
      done_ ;;
    *do:attack*)
      ask 1 fs/read_text_file '{"sessionId":"s1","path":"/etc/passwd"}'
      ask 2 fs/write_text_file '{"sessionId":"s1","path":"/tmp/x","content":"evil"}'
      ask 3 terminal/create '{"sessionId":"s1","command":"sh","args":["-c","evil"]}'
      say '{"jsonrpc":"2.0","id":77,"result":{"stopReason":"end_turn"}}'
      say '{"jsonrpc":"2.0","id":"b","method":"_x","result":{"authMethods":['"$login"']}}'
      say '{"jsonrpc":"2.0","id":"c","method":"session/update","method":"fs/read_text_file"}'
      say 'a line of noise'
      for n in 1 2 3; do IFS= read -r line; printf '%s\n' "$line" >> /tmp/heard; done
      done_ ;;
    *do:long*) head -c 100000000 /dev/zero | tr '\0' x | sed 's/^/{"jsonrpc":"/'; echo; echo ok > /tmp/long ;;
    *do:flood*)
      for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        for m in 1 2 3 4 5 6 7 8 9 10; do
          for k in 1 2 3 4 5 6 7 8 9 10; do
            ask "$n.$m.$k" fs/read_text_file '{"path":"/etc/passwd"}'
            text "flood $n $m $k"
          done
        done
      done
      done_ ;;
    *do:deaf*) touch /tmp/deaf; trap '' HUP TERM; while :; do sleep 1; done ;;
    *do:exit*) exit 7 ;;
  esac
done
