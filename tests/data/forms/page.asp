<%@ Language=VBScript %>
<% server = "mapserv.exe" %>
<form action="/cgi-bin/mapserv.exe" <% If a > 1 Then %>target="_blank"<% End If %>>
<button FormAction='/scripts/MapServ.EXE?mode=x'>go</button>
<a href="<%= server %>/cgi-bin/mapserv.exe">x</a>
</form>
